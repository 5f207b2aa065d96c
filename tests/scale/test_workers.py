"""A file is expanded to the same bytes, or refused with the same words, whatever the number of workers."""

import gzip
import json
import multiprocessing
import os
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from samples import Families, caption_lines, captions
from small_encoders import write_encoder

from polyref.align import AlignSettings
from polyref.data import Fields, Line, ReadSettings, read, render
from polyref.encode import ContextEncoder, open_encoder
from polyref.encode.opening import open_language_model
from polyref.errors import InputError, OutputError, SettingsError
from polyref.expansion import CHUNK, ExpandSettings, expand
from polyref.lattice import PlainEngine
from polyref.lattice import engine as engine_module
from polyref.scale import Job, Progress, ToolSettings, expand_file
from polyref.scale.pool import in_order
from polyref.scale.shards import Done
from polyref.scale.workers import by_others
from polyref.stats import Tally

HARD = ExpandSettings(per_example=8)
SOFT = ExpandSettings(per_example=8, align=AlignSettings("soft", "cosine", "adaptive", at_least=50))
EXAMPLES = 2 * CHUNK + 40  # two chunks, and part of a third


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workers")


@pytest.fixture(scope="module")
def captions_file(folder: Path) -> Path:
    path = folder / "captions.jsonl"
    path.write_text(caption_lines(EXAMPLES))
    return path


@pytest.fixture(scope="module")
def encoder_name(folder: Path) -> str:
    return Families().save(folder / "families.npz")


@pytest.fixture(scope="module", params=[HARD, SOFT], ids=["hard", "soft"])
def settings(request: pytest.FixtureRequest) -> ExpandSettings:
    return request.param


@pytest.fixture(scope="module")
def expected(settings: ExpandSettings, captions_file: Path) -> bytes:
    """What the library function gives, in one process and plain Python."""
    examples = read(str(captions_file))
    results = expand(examples, settings=settings, encoder=Families().encoder(), engine=PlainEngine())
    return "".join(render(result) + "\n" for result in results).encode()


def job_of(input: str, output: str, settings: ExpandSettings = HARD, **others: Any) -> Job:
    """`others` are fields of ReadSettings and of ToolSettings."""
    reading = ReadSettings(**{key: others.pop(key) for key in ("fields", "max_line_bytes") if key in others})
    return Job(input, output, settings, reading, ToolSettings(**others))


def run(input: Path, output: Path, **job: Any) -> bytes:
    expand_file(job_of(str(input), str(output), **job))
    return output.read_bytes()


@pytest.mark.parametrize(
    ("workers", "engine"),
    [
        (1, "auto"),
        (1, "plain"),
        (2, "plain"),
        (4, "plain"),
        pytest.param(1, "compiled", marks=pytest.mark.compiled),
        pytest.param(2, "compiled", marks=pytest.mark.compiled),
    ],
)
def test_the_bytes_do_not_depend_on_workers_or_engine(
    workers, engine, settings, captions_file, encoder_name, expected, tmp_path
):
    encoder = encoder_name if settings is SOFT else None
    job = {"settings": settings, "encoder": encoder, "workers": workers, "engine": engine}
    assert run(captions_file, tmp_path / "out.jsonl", **job) == expected
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]


# -- with what the workers open themselves ----------------------------------------------------------------------

BUILT_IN = ExpandSettings(per_example=8, align=AlignSettings("soft"))
FLUENT = {
    "hard": replace(HARD, fluency=0.1),
    "soft": replace(BUILT_IN, fluency=0.1),
    "soft with vectors": replace(SOFT, fluency=0.1),
}


@pytest.fixture(scope="module")
def model_name(folder: Path) -> str:
    """A language model that knows the captions' words."""
    words = sorted({word for references in captions(EXAMPLES) for caption in references for word in caption.split()})
    return str(write_encoder(folder / "model", words))


@pytest.fixture(scope="module", params=FLUENT)
def fluent_job(request: pytest.FixtureRequest, encoder_name: str, model_name: str) -> dict[str, Any]:
    encoder = {"hard": None, "soft": model_name, "soft with vectors": encoder_name}[request.param]
    return {"settings": FLUENT[request.param], "encoder": encoder, "language_model": model_name}


@pytest.fixture(scope="module")
def fluent(fluent_job: dict[str, Any], model_name: str, captions_file: Path) -> bytes:
    encoder = None if fluent_job["encoder"] is None else open_encoder(fluent_job["encoder"])
    model = open_language_model(model_name)
    examples = read(str(captions_file))
    results = expand(
        examples, settings=fluent_job["settings"], encoder=encoder, language_model=model, engine=PlainEngine()
    )
    return "".join(render(result) + "\n" for result in results).encode()


@pytest.mark.parametrize(
    ("workers", "engine"),
    [
        (1, "plain"),
        (2, "plain"),
        (4, "plain"),
        pytest.param(1, "compiled", marks=pytest.mark.compiled),
        pytest.param(2, "compiled", marks=pytest.mark.compiled),
    ],
)
def test_fluent_bytes_do_not_depend_on_workers_or_engine(workers, engine, fluent_job, fluent, captions_file, tmp_path):
    written = run(captions_file, tmp_path / "out.jsonl", **fluent_job, workers=workers, engine=engine)
    assert written == fluent
    assert b'"fluency": -' in written


def test_the_encoder_judges_where_no_other_model_is_named(model_name, captions_file, tmp_path):
    job = {"settings": FLUENT["soft"], "encoder": model_name, "engine": "plain"}
    named = run(captions_file, tmp_path / "named.jsonl", **job, language_model=model_name)
    assert run(captions_file, tmp_path / "out.jsonl", **job) == named
    cached = run(captions_file, tmp_path / "cached.jsonl", **job, cache=str(tmp_path / "cache"))
    assert cached == named


@pytest.mark.parametrize("workers", [1, 2])
def test_the_tally_counts_what_was_not_fluent_whatever_the_workers(workers, model_name, captions_file, tmp_path):
    job = job_of(
        str(captions_file),
        str(tmp_path / "out.jsonl"),
        FLUENT["hard"],
        language_model=model_name,
        engine="plain",
        workers=workers,
    )
    tally, expected = expand_file(job), Tally()
    model = open_language_model(model_name)
    examples = read(str(captions_file))
    list(expand(examples, settings=FLUENT["hard"], language_model=model, engine=PlainEngine(), tally=expected))
    assert tally.left_out == expected.left_out
    assert tally.left_out["fluency"] > 0


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_built_in_encoder_is_opened_by_every_worker(workers, tmp_path):
    path = tmp_path / "captions.jsonl"
    path.write_text(caption_lines(CHUNK + 20))
    settings = replace(BUILT_IN, fluency=0.25)
    expected = "".join(render(one) + "\n" for one in expand(read(str(path)), settings=settings, engine=PlainEngine()))
    assert run(path, tmp_path / "out.jsonl", settings=settings, workers=workers, engine="plain") == expected.encode()


# -- a cache ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
def test_a_cache_changes_no_byte_and_is_used_the_second_time(workers, model_name, captions_file, tmp_path, monkeypatch):
    job = {"settings": BUILT_IN, "encoder": model_name, "engine": "plain", "workers": workers}
    expected = run(captions_file, tmp_path / "out.jsonl", **job)
    cache = tmp_path / "cache"
    assert run(captions_file, tmp_path / "first.jsonl", **job, cache=str(cache)) == expected
    [database] = cache.glob("*.sqlite")
    filled = kept(database)
    sentences = {caption for references in captions(EXAMPLES) for caption in references}
    assert len(filled) == len(sentences)
    assert run(captions_file, tmp_path / "second.jsonl", **job, cache=str(cache)) == expected
    assert kept(database) == filled
    # In this process, it can be seen that nothing is encoded any more.
    monkeypatch.setattr(ContextEncoder, "encode", lambda self, sentences: pytest.fail("encoded again"))
    job["workers"] = 1
    assert run(captions_file, tmp_path / "third.jsonl", **job, cache=str(cache)) == expected


def kept(database: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute("SELECT key, checksum FROM encodings ORDER BY key").fetchall()


# -- when workers are worth it ----------------------------------------------------------------------------------


@pytest.mark.compiled
def test_workers_take_over_where_the_first_chunk_has_shown_that_it_pays(
    captions_file, tmp_path, monkeypatch: pytest.MonkeyPatch
):
    expected = run(captions_file, tmp_path / "plain.jsonl", engine="plain")
    monkeypatch.setattr(engine_module, "_CELLS_BEFORE_LOADING", 0)
    monkeypatch.setattr(engine_module, "_CELLS_BEFORE_COMPILING", 0)
    seen = []
    job = job_of(str(captions_file), str(tmp_path / "out.jsonl"), workers=2)
    expand_file(job, on_progress=lambda progress: seen.append(len(multiprocessing.active_children())))
    assert (tmp_path / "out.jsonl").read_bytes() == expected
    assert seen[0] == 0
    assert max(seen) > 0


def test_a_small_file_starts_no_workers(captions_file, tmp_path):
    seen = []
    job = job_of(str(captions_file), str(tmp_path / "out.jsonl"), workers=2)
    expand_file(job, on_progress=lambda progress: seen.append(len(multiprocessing.active_children())))
    assert seen == [0, 0, 0]


def test_gzip_in_and_out_holds_the_same(captions_file, tmp_path):
    packed = tmp_path / "captions.jsonl.gz"
    packed.write_bytes(gzip.compress(captions_file.read_bytes()))
    expected = run(captions_file, tmp_path / "out.jsonl", engine="plain")
    first = run(packed, tmp_path / "first.gz", engine="plain")
    assert gzip.decompress(first) == expected
    assert run(packed, tmp_path / "second.gz", engine="plain") == first


def test_other_names_of_keys_reach_the_workers(tmp_path):
    path = tmp_path / "captions.jsonl"
    path.write_text(caption_lines(3).replace('"source"', '"prompt"').replace('"references"', '"answers"'))
    content = run(path, tmp_path / "out.jsonl", fields=Fields("id", "prompt", "answers"), engine="plain", workers=2)
    assert [list(json.loads(line)) for line in content.splitlines()] == [
        ["id", "prompt", "answers", "pseudo_references", "lattice"]
    ] * 3


def test_progress_goes_up_to_the_end_of_the_file(captions_file, tmp_path):
    reports: list[Progress] = []
    job = job_of(str(captions_file), str(tmp_path / "out.jsonl"), engine="plain")
    tally = expand_file(job, on_progress=reports.append)
    assert [report.examples for report in reports] == [CHUNK, 2 * CHUNK, EXAMPLES]
    assert [report.position for report in reports] == sorted(report.position for report in reports)
    assert reports[-1].position == captions_file.stat().st_size
    assert tally.examples == EXAMPLES


def test_the_tally_does_not_depend_on_workers(captions_file, tmp_path):
    alone, together = (
        expand_file(job_of(str(captions_file), str(tmp_path / "out.jsonl"), engine="plain", workers=workers))
        for workers in (1, 2)
    )
    assert {**together.summary(), "seconds": None} == {**alone.summary(), "seconds": None}
    assert alone.summary()["seconds"].keys() == {"read", "tokens", "encode", "lattice", "judge", "search", "write"}


# -- what is wrong ----------------------------------------------------------------------------------------------

LINES = caption_lines(3 * CHUNK).splitlines(keepends=True)


def with_lines(changes: dict[int, str]) -> bytes:
    """The captions with some lines, counted from 1, replaced."""
    return "".join(changes.get(number, line) for number, line in enumerate(LINES, 1)).encode()


FAULTS = {
    "a broken line in the second chunk": (with_lines({CHUNK + 7: "{\n"}), f":{CHUNK + 7}: broken JSON"),
    "two broken lines": (with_lines({CHUNK + 7: "{\n", 5: "[]\n"}), ":5: the line holds a list"),
    "an id of another chunk": (
        with_lines({2 * CHUNK + 1: LINES[3]}),
        f':{2 * CHUNK + 1}: the id "example 3" comes twice (first on line 4)',
    ),
    "a broken line before the end is missing": (
        gzip.compress(with_lines({9: "[]\n"}))[:-8],
        ":9: the line holds a list",
    ),
    "a missing end": (gzip.compress(with_lines({}))[:-8], ": the gzip data ends too early"),
    "a line over the limit": (
        with_lines({CHUNK + 1: "x" * 2000}),
        f":{CHUNK + 1}: the line is longer than 1,500",
    ),
}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("content", "says"), FAULTS.values(), ids=FAULTS)
def test_the_first_fault_of_a_file_is_told_whatever_the_number_of_workers(content, says, workers, tmp_path):
    path = tmp_path / "faulty.jsonl"
    path.write_bytes(content)
    job = job_of(str(path), str(tmp_path / "out.jsonl"), engine="plain", workers=workers, max_line_bytes=1500)
    with pytest.raises(InputError) as refused:
        expand_file(job)
    assert str(refused.value).startswith(f"{path}{says}")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_example_that_falls_short_is_named_with_its_file_and_line(workers, tmp_path):
    path = tmp_path / "captions.jsonl"
    path.write_text('\n{"id": "short", "source": 1, "references": ["a cat"]}\n')
    settings = ExpandSettings(shortfall="fail")
    job = job_of(str(path), str(tmp_path / "out.jsonl"), settings, engine="plain", workers=workers)
    with pytest.raises(InputError, match=r'captions.jsonl:2: the example "short" gives 1 references of 20'):
        expand_file(job)
    assert list(tmp_path.iterdir()) == [path]


def test_the_bytes_do_not_depend_on_workers_that_die(tmp_path):
    path = tmp_path / "captions.jsonl"
    path.write_text(caption_lines(10 * CHUNK))

    def kill_all(progress: Progress) -> None:
        if progress.examples % (3 * CHUNK) == 0:
            for child in multiprocessing.active_children():
                child.kill()

    expand_file(job_of(str(path), str(tmp_path / "alone.jsonl"), engine="plain"))
    expand_file(job_of(str(path), str(tmp_path / "out.jsonl"), engine="plain", workers=2), on_progress=kill_all)
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "alone.jsonl").read_bytes()


@dataclass(frozen=True)
class DieOf:
    """Expands lines to their numbers, and dies of one of them."""

    number: int

    def __call__(self) -> Callable[[list[Line]], Done]:
        return self.work

    def work(self, chunk: list[Line]) -> Done:
        if any(line.number == self.number for line in chunk):
            os.kill(os.getpid(), signal.SIGKILL)
        return Done(b"".join(b"%d\n" % line.number for line in chunk), Tally(examples=len(chunk)), chunk[-1].position)


def test_an_example_that_workers_die_of_is_set_aside():
    chunk = [Line(number, b"{}", 10 * number) for number in range(1, 6)]
    job = replace(job_of("captions.jsonl", "out.jsonl"), skip_bad="bad.jsonl")
    work = partial(in_order, set_up=DieOf(4), workers=2)
    before, done = by_others(iter([chunk[:2], chunk]), job, work)
    assert (before.content, before.aside) == (b"1\n2\n", [])
    assert (done.content, done.tally.examples, done.position) == (b"1\n2\n3\n5\n", 4, 50)
    reason = "worker processes died of this example (out of memory?)"
    assert done.aside == [{"line": 4, "reason": reason, "record": "{}"}]
    with pytest.raises(InputError, match=r"captions.jsonl:4: worker processes died of this example .*skip_bad"):
        list(by_others(iter([chunk]), replace(job, skip_bad=None), work))


def test_the_input_is_never_overwritten(captions_file, tmp_path):
    link = tmp_path / "link.jsonl"
    link.symlink_to(captions_file)
    before = captions_file.read_bytes()
    for output in (captions_file, link):
        with pytest.raises(OutputError, match="this is the input file; choose another name"):
            expand_file(job_of(str(captions_file), str(output)))
    assert captions_file.read_bytes() == before


@pytest.mark.parametrize(
    ("job", "says"),
    [
        ({"workers": 0}, "workers is 0; give a whole number from 1 to 1,024"),
        ({"workers": 1025}, "workers is 1025"),
        ({"settings": HARD, "encoder": "english"}, "encoder has no effect with hard alignment; set align to soft"),
        ({"settings": HARD, "cache": "folder"}, "cache has no effect with hard alignment, which encodes nothing"),
        ({"settings": SOFT, "cache": ""}, "cache has no name; name a folder"),
        (
            {"settings": SOFT, "language_model": "english"},
            "language_model judges fluency and seams, and is asked for neither",
        ),
    ],
)
def test_a_job_that_makes_no_sense_is_refused(job, says):
    with pytest.raises(SettingsError, match=says):
        job_of("in.jsonl", "out.jsonl", **job)
