"""Numbered lines of a file, plain or gzip."""

import gzip
import io
import sys
from pathlib import Path

import pytest
from malformed import BYTE_ORDER_MARK

from polyref.data import read_lines


def lines_of(folder: Path, content: bytes, name: str = "lines.jsonl", **settings: int) -> list[tuple[int, bytes]]:
    path = folder / name
    path.write_bytes(content)
    return [(line.number, line.content) for line in read_lines(str(path), **settings)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a\nb\n", [(1, b"a"), (2, b"b")]),
        (b"a\nb", [(1, b"a"), (2, b"b")]),
        (b"a\r\nb\r\n", [(1, b"a"), (2, b"b")]),
        (b"\n\na\n \t\nb", [(3, b"a"), (5, b"b")]),
        (BYTE_ORDER_MARK + b"a\nb\n", [(1, b"a"), (2, b"b")]),
        (BYTE_ORDER_MARK + b"\na\n", [(2, b"a")]),
        ("\u2028a\u0085\n".encode(), [(1, "\u2028a\u0085".encode())]),
    ],
    ids=["lines", "no end", "carriage returns", "blank lines", "a mark", "a mark alone", "other breaks"],
)
def test_lines_come_with_their_numbers_and_without_their_ends(content, expected, tmp_path: Path):
    assert lines_of(tmp_path, content) == expected


@pytest.mark.parametrize("name", ["lines.jsonl.gz", "lines.jsonl", "lines.gz.part"])
def test_gzip_is_known_by_its_content(name, tmp_path: Path):
    assert lines_of(tmp_path, gzip.compress(b"a\nb\n"), name) == [(1, b"a"), (2, b"b")]


def test_gzip_files_can_be_put_one_behind_the_other(tmp_path: Path):
    content = gzip.compress(b"a\nb") + gzip.compress(b"c\nd\n")
    assert lines_of(tmp_path, content, "lines.gz") == [(1, b"a"), (2, b"bc"), (3, b"d")]


def test_a_byte_order_mark_is_taken_off_inside_gzip_too(tmp_path: Path):
    assert lines_of(tmp_path, gzip.compress(BYTE_ORDER_MARK + b"a\n"), "lines.gz") == [(1, b"a")]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["newline", "carriage return"])
@pytest.mark.parametrize("mark", [b"", BYTE_ORDER_MARK], ids=["plain", "mark"])
def test_a_line_as_long_as_the_limit_is_read_and_counts_as_one(mark, end, tmp_path: Path):
    content = mark + b"x" * 10 + end + b"y" * 10 + end + b"z" * 10
    expected = [(1, b"x" * 10), (2, b"y" * 10), (3, b"z" * 10)]
    assert lines_of(tmp_path, content, max_line_bytes=10) == expected


def test_the_position_grows_to_the_size_of_the_file(tmp_path: Path):
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b"".join(b"%050000d\n" % number for number in range(20)))
    positions = [line.position for line in read_lines(str(path))]
    assert positions == sorted(positions)
    assert 0 < positions[0] < positions[-1] == path.stat().st_size


def test_lines_are_read_one_at_a_time(tmp_path: Path):
    path = tmp_path / "lines.gz"
    path.write_bytes(gzip.compress(b"a\n") + b"broken")
    assert next(read_lines(str(path))).content == b"a"


@pytest.mark.parametrize("content", [b"a\n\nb\n", gzip.compress(b"a\n\nb\n")], ids=["plain", "gzip"])
def test_a_dash_is_standard_input(content, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert [(line.number, line.content) for line in read_lines("-")] == [(1, b"a"), (3, b"b")]
