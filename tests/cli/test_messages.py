"""What every verb has in common: help in groups that fits a terminal, --quiet, --json, --verbose, and the summary."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from polyref.cli.encoder import VERBS as ENCODER
from polyref.cli.main import VERBS as PLAIN
from polyref.cli.subwords import VERBS as SUBWORDS

VERBS = [
    *([verb] for verb in PLAIN),
    *(["encoder", name] for name in ENCODER),
    *(["subwords", name] for name in SUBWORDS),
]
TWO_LINES = {"--veto KINDS"}  # its default is as long as a description may be


def sections(page: str) -> dict[str, list[str]]:
    """The lines under each heading of a page."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in page.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            heading = line[:-1]
        elif line.startswith("  "):
            found.setdefault(heading, []).append(line)
    return found


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_help_fits_a_terminal_with_one_line_for_each_option(verb, columns, run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    page = run(*verb, "--help").out.decode()
    assert max(map(len, page.splitlines())) <= columns
    found = sections(page)
    assert [line.split("  ")[1] for line in found["Messages"]] == [
        "--json",
        "-q, --quiet",
        "-v, --verbose",
        "-h, --help",
    ]
    for title in found.keys() - {"", "Arguments"}:
        # A line that begins far to the right goes on with a description, or begins that of a long option.
        texts = [line for line in found[title] if line.startswith("   ")]
        long = [line for line in found[title] if line.startswith("  -") and "  " not in line.strip()]
        wraps = sum(name in line for name in TWO_LINES for line in found[title]) if columns == 80 else 0
        assert len(texts) - wraps == len(long), (title, texts)


def test_options_are_grouped_by_their_settings(run):
    found = sections(run("expand", "--help").out.decode())
    assert list(found) == [
        *("", "Arguments", "Options", "Pseudo-references", "Words", "Alignment", "Search", "Tools"),
        *("Input", "Output", "Messages"),
    ]
    assert any("--penalty P" in line for line in found["Alignment"])


def test_quiet_leaves_results_and_errors(run, captions_file: Path, tmp_path: Path):
    done = run("expand", captions_file, "-o", tmp_path / "out.xyz", "--quiet")
    assert (done.code, done.out, done.err) == (0, b"", "")
    shown = run("expand", captions_file, "--quiet")
    assert shown.out == (tmp_path / "out.xyz").read_bytes() and shown.err == ""
    facts = run("expand", captions_file, "-o", tmp_path / "out.xyz", "--quiet", "--json")
    assert json.loads(facts.out)["examples"] == 3 and facts.err == ""
    assert run("expand", tmp_path / "gone.jsonl", "-q").err.startswith("polyref: ")


@pytest.mark.parametrize("option", ["-v", "-vv"])
def test_verbose_logs_on_standard_error(option, run, captions_file: Path, tmp_path: Path):
    done = run("expand", captions_file, "-q", option)
    assert f"{captions_file}: read as jsonl\n" in done.err
    assert ("polyref.data.reading: " in done.err) == (option == "-vv")
    assert run("expand", captions_file, "-q").err == ""  # nothing stays behind
    assert [type(handler) for handler in logging.getLogger("polyref").handlers] == []


def test_every_line_of_a_summary_fits_and_says_what_it_counts(run, captions_file: Path, tmp_path: Path):
    lines = run("expand", captions_file, "-o", tmp_path / "out.jsonl", "-k", 100_0).out.decode().splitlines()
    assert max(map(len, lines)) <= 80
    assert "fell short      3 examples with fewer than 1,000 references" in lines
    assert "not exact       0 examples whose search was cut short" in lines


@pytest.mark.parametrize(("verb", "usual"), [("expand", "JSON Lines; --to"), ("stream", "TSV; --format")])
def test_a_name_that_tells_no_format_is_told(verb, usual, run, captions_file: Path, tmp_path: Path):
    output = tmp_path / "out.xyz"
    assert f"polyref: {output}: written as {usual} gives another format\n" in run(verb, captions_file, "-o", output).err
    known = run(verb, captions_file, "-o", tmp_path / f"out.{'jsonl' if verb == 'expand' else 'tsv'}")
    assert "written as" not in known.err


def test_the_summary_of_a_stream_is_beside_its_pairs(run, captions_file: Path):
    done = run("stream", captions_file, "--json", "--epochs", 2)
    facts = json.loads(done.err)
    assert facts == {"epochs": [0, 1], "pairs": len(done.out.splitlines()), "format": "tsv", "files": ["-"]}


def test_folders_of_drawings_are_made(run, captions_file: Path, tmp_path: Path):
    assert run("lattice", captions_file, "-o", tmp_path / "new" / "folder" / "{id}.svg").code == 0
    assert len(list((tmp_path / "new" / "folder").iterdir())) == 3
