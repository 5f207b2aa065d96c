"""Pages cannot rot: every `polyref` command that README.md and docs/tools show parses, and those of stream run."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer

from benchmarks.joeynmt_stream import RECIPE
from polyref import ExpandSettings, expand, read, sample_examples, write
from polyref.cli.main import made_app
from polyref.data import WriteSettings
from polyref.schedule import ScheduleSettings

ROOT = Path(__file__).parent.parent
TOOLS = ROOT / "docs" / "tools"
PAGES = [ROOT / "README.md", *sorted(TOOLS.glob("*.md"))]
EXAMPLES = 6

# What stands for other things on a page: a file that was named before, the counter of a loop.
STANDS_FOR = {"...": "captions.jsonl -o expanded.jsonl", "$epoch": "1", "${epoch}": "1", "$((epoch - 1))": "0"}


@dataclass(frozen=True)
class Shown:
    """A command on a page, as a shell would hand it over, without `polyref`."""

    page: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page}: polyref {shlex.join(self.arguments)}"


def blocks(text: str) -> Iterator[str]:
    """The code blocks of a page: fenced, or indented by four."""
    yield from re.findall(r"^```\w*\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    yield from re.findall(r"(?:^ {4}.*\n?)+", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), flags=re.MULTILINE)


def shown(page: Path) -> Iterator[Shown]:
    for block in blocks(page.read_text(encoding="utf-8")):
        for line in re.sub(r"\\\n", " ", block).splitlines():
            # At the start of a line, or where a shell begins another command.
            for found in re.finditer(r"(?:^\s*(?:\$ )?|[|;&(]\s*|\bdo\s+)polyref ([a-z][^|;&<>]*)", line):
                command = found[1]
                for written, meant in STANDS_FOR.items():
                    command = command.replace(written, meant)
                # Where a large epoch goes on is behind the end of a small one.
                command = re.sub(r"--start \d+", "--start 1", command)
                yield Shown(page.relative_to(ROOT).as_posix(), tuple(shlex.split(command.rstrip(" )"), comments=True)))


COMMANDS = list(dict.fromkeys(command for page in PAGES for command in shown(page)))
STREAMS = [command for command in COMMANDS if command.arguments[0] == "stream"]


def parsed(arguments: tuple[str, ...]) -> dict[str, Any]:
    """What the last command of a chain such as `encoder train` is given; unknown verbs and options are refused."""
    command: Any = typer.main.get_command(made_app())
    rest = list(arguments)
    while hasattr(command, "commands"):
        command = command.commands[rest.pop(0)]
    settings: dict[str, Any] = command.make_context(command.name, rest).params
    return settings


def test_every_page_about_a_tool_shows_commands() -> None:
    shown_on = {command.page for command in COMMANDS}
    assert {page.relative_to(ROOT).as_posix() for page in PAGES if page.name != "README.md"} <= shown_on
    assert "README.md" in shown_on
    assert len(STREAMS) > len(PAGES)


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_a_shown_command_parses(command: Shown) -> None:
    settings = parsed(command.arguments)
    if "schedule" in settings:
        ScheduleSettings(settings["schedule"])


def test_a_misspelt_option_would_be_noticed() -> None:
    with pytest.raises(Exception, match="--shedule"):
        parsed(("stream", "captions.jsonl", "--shedule", "first"))


# In a process of its own: one start for all commands of a page.
RUN_ALL = """
import json, sys
from polyref.cli.main import main
for arguments in json.load(sys.stdin):
    sys.argv = ["polyref", *arguments]
    try:
        main()
    except SystemExit as stopped:
        if stopped.code:
            sys.exit(f"failed: polyref {arguments}")
"""


@pytest.mark.parametrize("page", sorted({command.page for command in STREAMS}))
def test_the_streams_of_a_page_run(page: str, tmp_path: Path) -> None:
    """On a few examples, under the names that the page gives to its files."""
    commands = [one.arguments for one in STREAMS if one.page == page and "--fresh" not in one.arguments]
    examples = list(expand(sample_examples()[:EXAMPLES], settings=ExpandSettings(keep_lattice=True)))
    for name in {name for arguments in commands for name in parsed(arguments)["files"]}:
        made = tmp_path / name
        made.parent.mkdir(parents=True, exist_ok=True)
        write(
            examples,
            made,
            settings=WriteSettings("karpathy" if made.suffix == ".json" else None),
        )
    done = subprocess.run(
        [sys.executable, "-c", RUN_ALL], input=json.dumps(commands), cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_recipe_of_the_readme_fits_its_files(tmp_path: Path) -> None:
    """The samples it trains on and the held-out ones have no input and no sentence in common."""
    recipe = re.findall(r"```toml\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.S)[0]
    (tmp_path / "tiny.toml").write_text(recipe)
    checked = json.dumps([["train", str(tmp_path / "tiny.toml"), "--check", "-o", str(tmp_path / "tiny")]])
    done = subprocess.run([sys.executable, "-c", RUN_ALL], input=checked, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    files = [list(read(ROOT / "examples" / f"{name}.jsonl")) for name in ("weather", "weather-dev")]
    said = [{one.source for one in file} | {gold.text for one in file for gold in one.references} for file in files]
    assert len(said[0]) > 500 and said[0].isdisjoint(said[1])


def test_the_readme_shows_what_expand_prints(tmp_path: Path) -> None:
    """Times aside."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    [example] = [block for block in blocks(page) if block.startswith('    {"id": "42", "source"')]
    (tmp_path / "captions.jsonl").write_text(re.sub("^ +", "", example, flags=re.M))
    [shown] = [block for block in blocks(page) if "--per-example 8\n" in block]
    command, *told = [line.removeprefix("    ") for line in shown.rstrip("\n").split("\n")]
    given = json.dumps([shlex.split(command)[2:]])
    done = subprocess.run([sys.executable, "-c", RUN_ALL], input=given, cwd=tmp_path, capture_output=True, text=True)
    printed, expected = (re.sub(r"\d+\.\d\d(?=,|$)", "", lines) for lines in (done.stdout, "\n".join(told) + "\n"))
    assert printed.split() == expected.split()


def test_links_of_the_pages_lead_somewhere() -> None:
    for page in TOOLS.glob("*.md"):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (TOOLS / target).exists(), f"{page.name}: {target}"


def test_the_recipe_that_was_measured_is_the_one_on_the_page() -> None:
    """Comments aside."""
    page = (TOOLS / "joeynmt.md").read_text(encoding="utf-8")
    first = next(block for block in blocks(page) if block.startswith("name:"))
    measured = RECIPE.format(epoch=0, load="", batch=64, updates=639, logging=71)
    assert [line.split("#")[0].rstrip() for line in first.splitlines()] == measured.splitlines()
