"""What every verb has in common: help in groups that fits a terminal, --quiet, --json, --verbose, and the summary."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
import typer

from polyref.cli.encoder import VERBS as ENCODER
from polyref.cli.main import VERBS as PLAIN
from polyref.cli.main import made_app
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


def test_a_stream_and_an_alignment_say_what_they_wrote(run, captions_file: Path, tmp_path: Path):
    pairs, matrix = tmp_path / "pairs.tsv", tmp_path / "{id}.svg"
    done = run("stream", captions_file, "-o", pairs)
    assert done.out.decode() == f"{len(pairs.read_text().splitlines())} pairs in {pairs}\n"
    done = run("stream", captions_file, "-o", tmp_path / "both", "--format", "parallel")
    assert done.out.decode().endswith(f" pairs in {tmp_path / 'both.src'} and {tmp_path / 'both.trg'}\n")
    done = run("align", captions_file, "-o", matrix)
    names = [line.rpartition(": ")[2] for line in done.out.decode().splitlines()]
    assert len(names) == 3 and all(Path(name).is_file() for name in names)
    assert json.loads(run("align", captions_file, "-o", matrix, "--json").out.splitlines()[0])["pair"] == [0, 1]
    for verb, output in (("stream", pairs), ("align", matrix)):
        assert run(verb, captions_file, "-o", output, "--quiet").out == b""


@pytest.mark.parametrize(
    ("verb", "option", "begun", "values"),
    [
        ("stream", "--schedule", "", ["first", "sample-one", "uniform", "shuffle"]),
        ("stream", "--schedule", "s", ["sample-one", "shuffle"]),
        ("expand", "--engine", "", ["auto", "plain", "compiled"]),
        ("expand", "--veto", "n", ["numbers", "negation"]),
        ("expand", "--penalty", "", ["adaptive"]),
    ],
)
def test_the_values_of_options_complete(verb, option, begun, values):
    command = typer.main.get_command(made_app(verb)).commands[verb]
    [found] = [one for one in command.params if option in one.opts]
    assert [item.value for item in found.shell_complete(command.make_context(verb, ["file"]), begun)] == values
