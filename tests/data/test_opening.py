"""A file is read line by line, plain or compressed; what is written is there whole or not at all."""

import gzip
import io
import os
import re
import sys
import threading
from pathlib import Path

import pytest
from malformed import BYTE_ORDER_MARK

from polyref.data import open_output, read_lines
from polyref.data.opening import check_output_is_none_of, decoded
from polyref.errors import InputError, OutputError


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


def write(path: Path, content: bytes = b"new\n") -> None:
    with open_output(str(path)) as stream:
        stream.write(content)


def test_the_file_takes_its_name_only_at_the_end(tmp_path: Path):
    target = tmp_path / "out.jsonl"
    with open_output(str(target)) as stream:
        stream.write(b"new\n")
        assert not target.exists()
        [temporary] = tmp_path.iterdir()
    assert target.read_bytes() == b"new\n"
    assert not temporary.exists()


@pytest.mark.parametrize("stop", [ValueError, KeyboardInterrupt, SystemExit, OSError])
@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_an_error_leaves_nothing_behind(stop, name, tmp_path: Path):
    with pytest.raises((stop, OutputError)), open_output(str(tmp_path / name)) as stream:
        stream.write(b"half")
        raise stop
    assert list(tmp_path.iterdir()) == []


def test_an_error_leaves_an_older_file_as_it_was(tmp_path: Path):
    target = tmp_path / "out.jsonl"
    target.write_bytes(b"old\n")
    with pytest.raises(ValueError), open_output(str(target)) as stream:
        stream.write(b"half")
        raise ValueError
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old\n"]


def test_a_name_in_gz_is_compressed_to_the_same_bytes_each_time(tmp_path: Path):
    first, second = tmp_path / "first.gz", tmp_path / "second.jsonl.gz"
    for target in (first, second):
        write(target, b"new\n" * 1000)
    assert gzip.decompress(first.read_bytes()) == b"new\n" * 1000
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes()[4:8] == bytes(4)  # gzip's place for the time


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\x89PNG\r\n\x1a\n", "this is not text; name a file of examples"),
        (bytes(range(256)), "this is not text"),
        ("a\tcafé\n".encode("latin-1"), "not UTF-8 at byte 6 of the line; save the file as UTF-8"),
        ("image,caption\n".encode("utf-16"), "not UTF-8 at byte 1 of the line; save the file as UTF-8"),
    ],
    ids=["picture", "bytes", "latin-1", "16 bits"],
)
def test_what_is_no_text_is_told_from_text_in_another_encoding(content: bytes, says: str):
    with pytest.raises(InputError, match=says):
        decoded(content, "file", 1)


def test_a_missing_folder_is_refused(tmp_path: Path):
    with pytest.raises(OutputError, match=r"nowhere/out\.jsonl: cannot be written \(there is no folder"):
        write(tmp_path / "nowhere" / "out.jsonl")


def test_a_folder_is_refused(tmp_path: Path):
    with pytest.raises(OutputError, match="this is a folder; name a file"):
        write(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_place_of_a_folder_is_refused(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OutputError, match=r"file/out\.jsonl: cannot be written \(Not a directory\)"):
        write(tmp_path / "file" / "out.jsonl")


def test_a_named_pipe_is_written_to_and_stays_one(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    write(pipe)
    reader.join()
    assert received == [b"new\n"]
    assert pipe.is_fifo()


def test_a_pipe_by_its_number_is_written_to():
    """What a shell's >(...) gives, and what /dev/stdout is behind a pipe."""
    reading, writing = os.pipe()
    write(Path(f"/dev/fd/{writing}"))
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        assert stream.read() == b"new\n"


def test_a_dash_is_standard_output(capsysbinary: pytest.CaptureFixture[bytes]):
    write(Path("-"))
    assert capsysbinary.readouterr().out == b"new\n"


@pytest.mark.parametrize("spelling", ["model.npz", "other/../model.npz", "./model.npz", "link.npz", "other/link"])
def test_a_file_that_is_read_is_not_written_over(spelling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "model.npz").write_bytes(b"model")
    (tmp_path / "link.npz").symlink_to("model.npz")
    (tmp_path / "other" / "link").symlink_to(tmp_path / "link.npz")
    read = {"the ids": None, "the input": "-", "the features": "gone.npz", "the model": tmp_path / "model.npz"}
    says = f"{spelling}: this is the model; choose another name for the output"
    with pytest.raises(OutputError, match=re.escape(says)):
        check_output_is_none_of(spelling, read)


@pytest.mark.parametrize("output", ["new.npz", "gone.npz", "older.npz", "-", os.devnull, "a" * 300, "nul\0"])
def test_any_other_file_may_be_written_over(output, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "older.npz").write_bytes(b"features")
    (tmp_path / "model.npz").write_bytes(b"features")
    read = {"the model": "model.npz", "the features": "gone.npz", "the input": os.devnull, "the ids": "a" * 300}
    check_output_is_none_of(output, read)


def shortened(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def lengthened(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"one more\n")


def rewritten(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"a", b"b"))
    os.utime(path, ns=(1, 1))


def replaced(path: Path) -> None:
    path.rename(path.with_name("older"))
    path.write_bytes(path.with_name("older").read_bytes())


@pytest.mark.parametrize("change", [shortened, lengthened, rewritten, replaced, Path.unlink])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_file_that_changes_while_it_is_read_is_refused(change, pack, tmp_path: Path):
    path = tmp_path / "lines"
    path.write_bytes(pack(b"".join(b"a %d\n" % number for number in range(9))))
    lines = read_lines(str(path))
    assert next(lines).content == b"a 0"
    change(path)
    with pytest.raises(InputError, match="lines: the file changed while it was read; start again when it is complete"):
        list(lines)


def test_a_reader_that_stops_early_does_not_care_about_changes(tmp_path: Path):
    path = tmp_path / "lines"
    path.write_bytes(b"a\nb\n")
    lines = read_lines(str(path))
    next(lines)
    lengthened(path)
    lines.close()


def test_a_pipe_may_have_any_size(tmp_path: Path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(b"a\nb\n",))
    writer.start()
    assert [line.content for line in read_lines(str(path))] == [b"a", b"b"]
    writer.join()


def test_zstd_may_begin_with_a_frame_without_data(tmp_path: Path):
    zstandard = pytest.importorskip("zstandard")
    skipped = b"\x5a\x2a\x4d\x18\x03\x00\x00\x00abc"
    content = skipped + zstandard.ZstdCompressor().compress(b"a\nb\n")
    assert lines_of(tmp_path, content, "lines.jsonl.zst") == [(1, b"a"), (2, b"b")]
