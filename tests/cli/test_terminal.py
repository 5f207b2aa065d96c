"""What others wrote never commands a terminal, and never looks like a line of ours."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ID, WORD = "id\n\x1b]0;x\x07\x9b31m", "c\x1b[2J\x9b2J\u202ex\x7f"
RECORD = {"id": ID, "source": f"s {WORD}", "references": [f"a {WORD} d e", "a b d e", "a b d f"]}
COMMANDS = [
    ["lattice", "FILE", "--tokenizer", "whitespace", "--best", "2", "--list", "3", "--sample", "1"],
    ["lattice", "FILE", "--tokenizer", "whitespace", "--list", "3", "--json"],
    ["align", "FILE", "--tokenizer", "whitespace"],
    ["align", "FILE", "--tokenizer", "whitespace", "--json"],
    ["stats", "FILE"],
    ["expand", "FILE"],
    ["convert", "FILE", "-"],
    ["stream", "FILE", "--index", "FOLDER"],
    ["stream", "FILE", "--index", "FOLDER", "--format", "jsonl"],
]


def is_harmless(text: str) -> bool:
    return not any((c < " " and c not in "\n\t") or "\x7f" <= c <= "\x9f" or c in "\u2028\u2029\u202e" for c in text)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps(RECORD, ensure_ascii=False) + "\n")
    return path


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_terminal_gets_no_control_characters(
    command: list[str], run, data: Path, tmp_path: Path, monkeypatch
) -> None:
    places = {"FILE": str(data), "FOLDER": str(tmp_path / "index")}
    arguments = [places.get(part, part) for part in command]
    elsewhere = run(*arguments)
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda channel: True)
    shown = run(*arguments)
    assert (shown.code, shown.out != b"") == (0, True)
    assert is_harmless(shown.out.decode())
    if "jsonl" in command or "--json" in command or command[0] in ("expand", "convert"):
        first, again = (json.loads(done.out.splitlines()[0]) for done in (elsewhere, shown))
        assert first == again


@pytest.mark.parametrize("verb", ["lattice", "align"])
def test_an_id_is_one_line_wherever_it_is_printed(verb: str, run, data: Path) -> None:
    done = run(verb, data, "--tokenizer", "whitespace")
    first = done.out.decode().splitlines()[0]
    assert first.startswith("id \\u001b]0;x\\u0007\\u009b31m")
    assert is_harmless(done.out.decode())
