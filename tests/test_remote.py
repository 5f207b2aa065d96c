"""Data sets that a URL names: the same bytes as here, whole or not at all."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from samples import caption_lines

import polyref
from polyref.data import Input, read, write
from polyref.data.corpus import open_index
from polyref.data.opening import open_output
from polyref.errors import InputError, MissingExtraError, OutputError, PolyrefError
from polyref.expansion import CHUNK, ExpandSettings
from polyref.remote import Remote, path_at
from polyref.scale import Job, Progress, ShardSettings, ToolSettings, expand_file
from polyref.scale.shards import MANIFEST

fsspec = pytest.importorskip("fsspec", reason="needs the extra remote")

SETTINGS = ExpandSettings(per_example=6)
SHARD = 2 * CHUNK
LINES = caption_lines(3 * CHUNK + 5)


@pytest.fixture(params=["memory", "file"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A place that has objects, and one that has files which can be renamed."""
    if request.param == "file":
        (tmp_path / "far").mkdir()
        yield f"file://{tmp_path}/far"
        return
    yield "memory://bucket/far"
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    memory.pseudo_dirs[:] = [""]


def put(url: str, content: bytes) -> str:
    Remote(url).write_bytes(content)
    return url


def names_in(folder: str) -> list[str]:
    return sorted(one.name for one in Remote(folder).iterdir())


def job_of(input: str, output: str, shards: str | None = None, **tools: Any) -> Job:
    tools = {"engine": "plain", **tools}
    return Job(input, output, SETTINGS, tools=ToolSettings(**tools), sharding=ShardSettings(shards, SHARD))


@pytest.fixture
def here(tmp_path: Path) -> Path:
    path = tmp_path / "captions.jsonl"
    path.write_text(LINES)
    return path


@pytest.fixture
def expected(here: Path) -> bytes:
    output = here.with_name("expected.jsonl")
    expand_file(job_of(str(here), str(output)))
    return output.read_bytes()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_compressed_file_is_expanded_to_the_same_bytes(workers, folder, expected):
    source = put(f"{folder}/captions.jsonl.gz", gzip.compress(LINES.encode()))
    expand_file(job_of(source, f"{folder}/out.jsonl.gz", workers=workers))
    assert gzip.decompress(Remote(f"{folder}/out.jsonl.gz").read_bytes()) == expected
    assert names_in(folder) == ["captions.jsonl.gz", "out.jsonl.gz"]


@pytest.mark.parametrize("name", ["all.jsonl", "all.jsonl.gz", "all.csv", "all.parquet", "all.json"])
def test_every_format_comes_back(name, folder, here):
    examples = list(read(here))
    write(examples, f"{folder}/{name}")
    assert names_in(folder) == [name]
    assert [one.references for one in read(f"{folder}/{name}")] == [one.references for one in examples]


def test_parallel_text_is_read_and_not_written(folder, here):
    for name, text in {"a.src": "s\nt\n", "a.ref0": "one\ntwo\n", "a.ref1": "eins\nzwei\n"}.items():
        put(f"{folder}/{name}", text.encode())
    found = [[reference.text for reference in one.references] for one in read(f"{folder}/a.src")]
    assert found == [["one", "eins"], ["two", "zwei"]]
    with pytest.raises(OutputError, match=r"b.src: several files that belong together can only be written on this ma"):
        write(read(here), f"{folder}/b.src")


def test_a_folder_is_one_data_set(folder, here):
    lines = LINES.splitlines(keepends=True)
    Remote(f"{folder}/in").mkdir()
    put(f"{folder}/in/b.jsonl", "".join(lines[100:]).encode())
    put(f"{folder}/in/a.jsonl", "".join(lines[:100]).encode())
    put(f"{folder}/in/_notes", b"left out")
    assert [one.references for one in read(f"{folder}/in")] == [one.references for one in read(here)]


def test_an_index_is_kept_until_the_file_changes(folder, indexes):
    url = put(f"{folder}/all.jsonl", LINES.encode())
    first = open_index(Input.of(url)).folder
    assert open_index(Input.of(url)).folder == first
    put(url, "".join(LINES.splitlines(keepends=True)[:7]).encode())
    assert len(open_index(Input.of(url))) == 7


def test_pairs_are_streamed(folder, here, indexes):
    url = put(f"{folder}/all.jsonl", LINES.encode())
    assert list(polyref.stream(url, "shuffle").epoch(0)) == list(polyref.stream(str(here), "shuffle").epoch(0))


# -- whole or not at all ----------------------------------------------------------------------------------------------


def test_nothing_appears_before_everything_is_written(folder):
    target = put(f"{folder}/out.jsonl", b"older")

    def broken() -> None:
        with open_output(target) as stream:
            stream.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()
    assert Remote(target).read_bytes() == b"older"
    assert names_in(folder) == ["out.jsonl"]
    with open_output(target) as stream:
        stream.write(b"newer")
    assert Remote(target).read_bytes() == b"newer"


def test_a_file_system_that_does_not_rename_over_a_file_has_it_replaced(tmp_path, monkeypatch):
    from fsspec.implementations.local import LocalFileSystem

    moved = LocalFileSystem.mv

    def mv(self: Any, old: str, new: str, **options: Any) -> None:
        if Path(new).exists():
            raise FileExistsError(new)
        moved(self, old, new, **options)

    monkeypatch.setattr(LocalFileSystem, "mv", mv)
    for content in (b"older", b"newer"):
        put(f"file://{tmp_path}/out", content)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("out", b"newer")]


def test_what_cannot_be_written_is_said_before_the_work(tmp_path, here):
    with pytest.raises(
        OutputError, match=r"gone/out.jsonl: cannot be written \(No such file or directory\); check the a"
    ):
        expand_file(job_of(str(here), f"file://{tmp_path}/gone/out.jsonl"), on_progress=lambda _: pytest.fail("worked"))


def test_the_input_is_not_written_over(folder):
    url = put(f"{folder}/all.jsonl", LINES.encode())
    with pytest.raises(OutputError, match="this is the input file; choose another name"):
        expand_file(job_of(url, url))


# -- shards -----------------------------------------------------------------------------------------------------------


class StoppedError(Exception):
    pass


def stop(progress: Progress) -> None:
    if progress.examples > SHARD:
        raise StoppedError


def joined(folder: str) -> bytes:
    return b"".join(Remote(f"{folder}/{name}").read_bytes() for name in names_in(folder) if name != MANIFEST)


def test_shards_go_on_where_they_were_stopped(folder, here, expected):
    out = f"{folder}/out"
    with pytest.raises(StoppedError):
        expand_file(job_of(str(here), f"{out}/"), on_progress=stop)
    assert names_in(out) == ["00000.jsonl", MANIFEST]
    again: list[int] = []
    expand_file(job_of(str(here), f"{out}/"), on_progress=lambda progress: again.append(progress.examples))
    assert again[-1] == CHUNK + 5
    assert joined(out) == expected
    Remote(f"{out}/00001.jsonl").write_bytes(b"changed")
    expand_file(job_of(str(here), out))
    assert joined(out) == expected


def test_parts_become_one_file_and_go(folder, here, expected):
    output, parts = f"{folder}/out.jsonl", f"{folder}/parts"
    with pytest.raises(StoppedError):
        expand_file(job_of(str(here), output, parts), on_progress=stop)
    expand_file(job_of(str(here), output, parts))
    assert Remote(output).read_bytes() == expected
    assert names_in(parts) == []
    assert folder.startswith("memory") or not Remote(parts).exists()


def test_other_settings_are_refused(folder, here):
    job = job_of(str(here), f"{folder}/out/")
    expand_file(job)
    with pytest.raises(OutputError, match=r"far/out: was begun with per_example 6, and this run has 7; give the same"):
        expand_file(replace(job, settings=ExpandSettings(per_example=7)))


def test_another_run_in_the_same_folder_is_noticed(folder, here):
    job = job_of(str(here), f"{folder}/out/")
    begun: list[int] = []

    def another(progress: Progress) -> None:
        if not begun:
            begun.append(1)
            expand_file(job)

    with pytest.raises(OutputError, match=r"far/out: another run writes to this folder; wait until it ends"):
        expand_file(job, on_progress=another)


# -- what is wrong ----------------------------------------------------------------------------------------------------


def test_a_file_that_is_not_there_is_named(folder):
    with pytest.raises(InputError, match=r"far/gone.jsonl: there is no such file; check the path"):
        list(read(f"{folder}/gone.jsonl"))


def test_a_file_that_changes_while_it_is_read_is_refused(folder):
    url = put(f"{folder}/all.jsonl", LINES.encode())
    examples = read(url)
    next(examples)
    put(url, LINES.replace("cat", "dog").encode() + b"\n")
    with pytest.raises(InputError, match="the file changed while it was read"):
        list(examples)


def test_faults_of_other_packages_are_told_in_one_line(monkeypatch):
    from fsspec.implementations.memory import MemoryFileSystem

    class NoCredentialsError(Exception):
        pass

    def refuse(*_: Any, **__: Any) -> None:
        raise NoCredentialsError("Unable to locate credentials")

    monkeypatch.setattr(MemoryFileSystem, "_open", refuse)
    monkeypatch.setattr(MemoryFileSystem, "pipe_file", refuse)
    with pytest.raises(InputError, match=r"^memory://a.jsonl: cannot be opened \(Unable to locate credentials\)$"):
        list(read("memory://a.jsonl"))
    with (
        pytest.raises(
            OutputError, match=r"^memory://a.jsonl: cannot be written \(Unable to locate credentials\); check"
        ),
        open_output("memory://a.jsonl"),
    ):
        pass


def test_an_unknown_kind_of_url_is_named():
    with pytest.raises(
        PolyrefError, match=r"^nowhere://a.jsonl: cannot be reached \(Protocol not known: nowhere\); ch"
    ):
        path_at("nowhere://a.jsonl")


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(PolyrefError, match=r"^s3://b/a.jsonl: a package is missing \(Install s3fs to access S3\)$"):
        path_at("s3://b/a.jsonl")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(
        MissingExtraError, match=r'^s3:// needs fsspec; install it with: pip install "polyref\[remote\]"$'
    ):
        path_at("s3://b/a.jsonl")


def test_the_manifest_is_one_json_object_per_line(folder, here):
    expand_file(job_of(str(here), f"{folder}/out/"))
    lines = Remote(f"{folder}/out/{MANIFEST}").read_bytes().splitlines()
    assert [json.loads(line).get("file") for line in lines] == [None, "00000.jsonl", "00001.jsonl"]
