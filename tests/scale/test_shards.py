"""A run that was stopped anywhere goes on, and gives the same bytes as one that was not."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from samples import caption_lines

from polyref.data import read
from polyref.errors import OutputError, PolyrefError, SettingsError
from polyref.expansion import CHUNK, ExpandSettings
from polyref.scale import Job, Progress, ShardSettings, ToolSettings, expand_file
from polyref.scale.shards import MANIFEST

SETTINGS = ExpandSettings(per_example=6)
EXAMPLES = 5 * CHUNK + 7
SHARD = 2 * CHUNK  # so there are three, the last one not full


class StoppedError(Exception):
    pass


@pytest.fixture(scope="module")
def captions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shards") / "captions.jsonl"
    path.write_text(caption_lines(EXAMPLES))
    return path


@pytest.fixture(scope="module")
def expected(captions: Path) -> bytes:
    output = captions.with_name("whole.jsonl")
    expand_file(Job(str(captions), str(output), SETTINGS, tools=ToolSettings(engine="plain")))
    return output.read_bytes()


def job_of(captions: Path, output: str, shards: Path | None = None, **tools: Any) -> Job:
    sharding = ShardSettings(shards and str(shards), SHARD)
    return Job(str(captions), output, SETTINGS, tools=ToolSettings(**{"engine": "plain", **tools}), sharding=sharding)


def stop_after(chunks: int):
    def stop(progress: Progress) -> None:
        if progress.examples >= chunks * CHUNK:
            raise StoppedError

    return stop


def joined(folder: Path, suffix: str = ".jsonl") -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.glob(f"[0-9]*{suffix}")))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_folder_of_shards_holds_what_one_file_would(workers, captions, expected, tmp_path):
    folder = tmp_path / "out"
    tally = expand_file(job_of(captions, f"{folder}/", workers=workers))
    assert sorted(path.name for path in folder.iterdir()) == ["00000.jsonl", "00001.jsonl", "00002.jsonl", MANIFEST]
    assert joined(folder) == expected
    assert tally.examples == EXAMPLES


def test_a_folder_that_is_complete_is_said_to_be(captions, tmp_path):
    said: list[str] = []
    for _ in range(2):
        expand_file(job_of(captions, f"{tmp_path}/out/"), say=said.append)
    assert [line for line in said if "shards" in line] == [f"{tmp_path}/out/: shards that are there already: 3"]


def test_the_name_tells_format_and_compression(captions, tmp_path):
    expand_file(job_of(captions, f"{tmp_path}/a/part-{{shard}}.jsonl.gz"))
    expand_file(job_of(captions, f"{tmp_path}/b/part-{{shard}}.csv"))
    packed, tables = sorted((tmp_path / "a").glob("part-*")), sorted((tmp_path / "b").glob("part-*"))
    assert [path.name for path in packed] == ["part-00000.jsonl.gz", "part-00001.jsonl.gz", "part-00002.jsonl.gz"]
    ids = [[example.id for path in paths for example in read(path)] for paths in (packed, tables)]
    assert ids[0] == ids[1] == [example.id for example in read(captions)]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("chunks", [1, 3, 5])
def test_a_run_that_was_stopped_goes_on(chunks, workers, captions, expected, tmp_path):
    parts, output = tmp_path / "parts", tmp_path / "out.jsonl"
    with pytest.raises(StoppedError):
        expand_file(job_of(captions, str(output), parts), on_progress=stop_after(chunks))
    done = {path: path.stat().st_mtime_ns for path in parts.glob("0*.jsonl")}
    assert len(done) == chunks // 2
    assert not output.exists()
    again: list[int] = []
    tally = expand_file(
        job_of(captions, str(output), parts, workers=workers),
        on_progress=lambda progress: again.append(progress.examples),
    )
    assert output.read_bytes() == expected
    assert again[-1] == EXAMPLES - len(done) * SHARD
    assert tally.examples == EXAMPLES
    assert not parts.exists()


def test_a_killed_run_goes_on(captions, expected, tmp_path):
    output, parts = tmp_path / "out.jsonl", tmp_path / "parts"
    command = [sys.executable, "-m", "polyref", "expand", str(captions), "-o", str(output), "-k", "6"]
    command += ["--shards", str(parts), "--shard-examples", str(SHARD), "--engine", "plain"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        while not (parts / "00000.jsonl").exists():
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
    assert not output.exists()
    subprocess.run(command, check=True, capture_output=True)
    assert output.read_bytes() == expected


def test_a_line_of_the_manifest_that_was_cut_off_is_left_out(captions, expected, tmp_path):
    folder = tmp_path / "out"
    expand_file(job_of(captions, f"{folder}/"))
    os.truncate(folder / MANIFEST, (folder / MANIFEST).stat().st_size - 9)
    (folder / "00001.jsonl").write_text("lost")
    examples: list[int] = []
    expand_file(job_of(captions, f"{folder}/"), on_progress=lambda progress: examples.append(progress.examples))
    assert joined(folder) == expected
    assert examples[-1] == EXAMPLES - SHARD
    assert len([json.loads(line) for line in (folder / MANIFEST).read_text().splitlines()]) == 5


def test_other_settings_are_refused(captions, tmp_path):
    job = job_of(captions, f"{tmp_path}/out/")
    expand_file(job)
    with pytest.raises(OutputError, match=r"out: was begun with per_example 6, and this run has 7; give the same"):
        expand_file(replace(job, settings=ExpandSettings(per_example=7)))
    with pytest.raises(OutputError, match=r"was begun with shard_examples 256, and this run has 128"):
        expand_file(replace(job, sharding=ShardSettings(None, CHUNK)))


def test_another_input_is_refused(captions, tmp_path):
    other, folder = tmp_path / "captions.jsonl", tmp_path / "out"
    other.write_bytes(captions.read_bytes())
    expand_file(job_of(other, f"{folder}/"))
    lines = other.read_text().splitlines(keepends=True)
    other.write_text("".join(lines[:-1]) + '{"source": "s", "references": ["a new one"]}\n')
    with pytest.raises(OutputError, match=r"its shard 2 was made from other records than those from line 513 on"):
        expand_file(job_of(other, f"{folder}/"))
    other.write_text("".join(lines[:SHARD]))
    with pytest.raises(OutputError, match="has a shard 1, and this input has only 1"):
        expand_file(job_of(other, f"{folder}/"))


def test_a_folder_with_other_files_is_not_written_to(captions, tmp_path):
    (tmp_path / "letters.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"holds other files \(letters.txt\); choose a folder that is new or empty"):
        expand_file(job_of(captions, str(tmp_path)))
    assert [path.name for path in tmp_path.iterdir()] == ["letters.txt"]


def test_two_runs_do_not_write_to_one_folder(captions, tmp_path):
    job = job_of(captions, f"{tmp_path}/out/")

    def another(progress: Progress) -> None:
        with pytest.raises(PolyrefError, match="another run writes to this folder"):
            expand_file(job)

    expand_file(job, on_progress=another)


def test_sizes_that_would_cut_a_chunk_are_refused():
    with pytest.raises(SettingsError, match=r"shard_examples is 200, not a multiple of 128; give 128"):
        ShardSettings(None, 200)
