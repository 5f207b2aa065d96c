"""Expand a file with any number of worker processes: the same bytes whatever their number.

In:   a job: which file, where to, how.
Out:  the expanded file, written whole or not at all, or shards that a later run goes on with; and a tally.
Not:  expanding (expansion.py), shards (shards.py), processes (pool.py), the command line (cli/).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from time import perf_counter
from typing import Any, BinaryIO

from polyref import __version__
from polyref.align import AlignSettings
from polyref.compiled import log
from polyref.data import (
    Format,
    Input,
    Line,
    Losses,
    ReadSettings,
    WriteReport,
    WriteSettings,
    open_examples,
    parse,
    render,
)
from polyref.data.formats import FORMATS, format_of_name
from polyref.data.formats.jsonl import record_line
from polyref.data.opening import changed, display_name, located
from polyref.data.writing import check_not_input, open_bad, with_pseudo_as_references
from polyref.encode import DEFAULT, ContextEncoder, Encoder, VectorSettings, open_encoder
from polyref.encode.cache import CachedEncoder
from polyref.encode.opening import check_vectors, hash_of_files, open_language_model
from polyref.errors import InputError, SettingsError
from polyref.example import Example
from polyref.expansion import CHUNK, ExpandSettings, Tools, expand_chunk, usage_of
from polyref.judge import EXAMPLES_READ, LanguageModel, Usage
from polyref.lattice import (
    AutoEngine,
    Engine,
    EngineName,
    check_encoder,
    check_references,
    engine_named,
)
from polyref.lattice.engine import alignment_cells, fastest_engine
from polyref.remote import path_at
from polyref.scale import cluster
from polyref.scale.pool import in_order
from polyref.scale.shards import PLACE, Done, ShardFolder, ShardSettings, pattern_of
from polyref.settings import contents, part, setting, settings
from polyref.stats import Tally


@settings(group="Tools")
class ToolSettings:
    """What expands, and with how many processes."""

    encoder: str | None = setting(
        None,
        "Folder, vectors:FILE, huggingface:ID.",
        more="What soft alignment takes vectors from; files are npz, GloVe or fastText text.",
        unset="english",
        metavar="NAME",
        clean=lambda name: name or None,
        needs=("align", "soft"),
    )
    vectors: VectorSettings = part(VectorSettings)
    language_model: str | None = setting(
        None,
        "Judges fluency and seams.",
        unset="encoder or english",
        metavar="NAME",
    )
    cache: str | None = setting(
        None, "Keep vectors of a costly encoder in here.", metavar="FOLDER", needs=("align", "soft")
    )
    engine: EngineName = setting("auto", "Plain Python, or kernels: same results.")
    workers: int = setting(1, "Processes; the result stays the same.", at_least=1, at_most=1024, short="-w")
    ray: str | None = setting(None, "Ray cluster to work on, or local.", metavar="ADDRESS")

    def check_together(self) -> None:
        if self.cache == "":
            raise SettingsError("has no name", "name a folder", key="cache")
        check_vectors(self.encoder or DEFAULT, self.vectors)

    def open_encoder(self, align: AlignSettings) -> Encoder | None:
        """What soft alignment takes its vectors from."""
        if align.align == "hard":
            return None
        return open_encoder(DEFAULT if self.encoder is None else self.encoder, self.vectors)


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that a worker must know."""

    input: str | tuple[str, ...]  # the files of parallel text may be named one by one
    output: str
    settings: ExpandSettings = field(default_factory=ExpandSettings)
    reading: ReadSettings = field(default_factory=ReadSettings)
    tools: ToolSettings = field(default_factory=ToolSettings)
    output_format: Format | None = None
    skip_bad: str | None = None  # as in BadSettings
    sharding: ShardSettings = field(default_factory=ShardSettings)

    def __post_init__(self) -> None:
        check_encoder(self.settings.align, self.tools.encoder)
        if self.settings.align.align == "hard" and self.tools.cache is not None:
            problem = "has no effect with hard alignment, which encodes nothing"
            raise SettingsError(problem, "leave it out", key="cache")
        if not self.settings.reads and self.tools.language_model is not None:
            problem = "judges fluency and seams, and is asked for neither"
            raise SettingsError(problem, "set fluency, or set judge to seams", key="language_model")
        if self.sharding.shards is not None and pattern_of(self.output) is not None:
            raise SettingsError("has no use for an output that is a folder of shards", "leave it out", key="shards")

    @property
    def path(self) -> str:
        """The file that messages name."""
        return self.input if isinstance(self.input, str) else self.input[0]

    @property
    def written_format(self) -> Format:
        # A name that does not tell the format is JSON Lines.
        return self.output_format or format_of_name(pattern_of(self.output) or self.output) or "jsonl"

    def source_file(self) -> Input:
        """What is read."""
        return Input.of(self.input, self.reading)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come; `position` counts bytes of the input file."""

    examples: int
    position: int


def expand_file(
    job: Job,
    *,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    say: Callable[[str], None] = log,
    report: WriteReport | None = None,
) -> Tally:
    """Expand a file. `say` is told if the kernels must be compiled, which takes a while, or cannot be.

    `report` is told what the formats of input and output could not hold.
    """
    input, report = job.source_file(), WriteReport() if report is None else report
    check_not_input(job.output, input, job.written_format)
    tools = _tools(job, engine_named(job.tools.engine, say))
    with open_bad(job.skip_bad, input, job.output) as bad, _open_place(job, report) as place:
        if isinstance(place, ShardFolder) and place.files:
            say(f"{job.output}: shards that are there already: {len(place.files):,}")
        lines = _lines(job, report.not_read, bad, place.tally, tools.engine)
        if job.settings.judging.judge != "bleu":
            started = perf_counter()
            first = list(islice(lines, EXAMPLES_READ))
            tools = replace(tools, usage=_usage(first, job))
            lines = chain(first, lines)
            place.tally.spend("read", started)
        examples = 0
        for done in _results(place.wanted(lines), job, tools, say):
            started = perf_counter()
            place.take(done)
            place.tally.spend("write", started)
            examples += done.tally.examples
            on_progress(Progress(examples, done.position))
        for one in place.aside:
            report.not_read.add("examples that worker processes died of")
            if bad is not None:
                bad.write(record_line(one) + b"\n")
    return place.tally


class _OneFile:
    """An output that is complete at the end of the run, or is not there."""

    def __init__(self, stream: BinaryIO):
        self.tally = Tally()
        self.aside: list[dict[str, Any]] = []
        self._stream = stream

    def wanted(self, lines: Iterator[Line]) -> Iterator[list[Line]]:
        return iter(lambda: list(islice(lines, CHUNK)), [])

    def take(self, done: Done) -> None:
        self._stream.write(done.content)
        self.tally.add(done.tally)
        self.aside += done.aside


@contextmanager
def _open_place(job: Job, report: WriteReport) -> Iterator[_OneFile | ShardFolder]:
    """Where results go: one file, or shards, of which one file may be made at the end."""
    pattern, parts = pattern_of(job.output), job.sharding.shards
    size = job.sharding.shard_examples

    def opened(path: str, format: Format = job.written_format) -> AbstractContextManager[BinaryIO]:
        return open_examples(path, job.reading.fields, WriteSettings(format), report)

    if pattern is None and parts is None:
        with opened(job.output) as stream:
            yield _OneFile(stream)
    elif pattern is not None:
        with ShardFolder(pattern, size, _described(job), opened) as folder:
            yield folder
            report.files = list(map(str, folder.files))
    else:
        parts = str(path_at(parts or "") / f"{PLACE}.jsonl")
        with ShardFolder(parts, size, _described(job), partial(opened, format="jsonl")) as folder:
            yield folder
            with opened(job.output) as stream:
                folder.join(stream)
            folder.remove()


def _described(job: Job) -> dict[str, Any]:
    """All that the output depends on but for the input. Neither the number of processes nor the engine is of it."""
    tools = replace(job.tools, cache=None, engine="auto", workers=1, ray=None)
    if job.settings.align.align == "hard":  # which asks no encoder
        tools = replace(tools, encoder=None, vectors=VectorSettings())
    hashes = {name: hash_of_files(name) for name in (tools.encoder, tools.language_model) if name is not None}
    return {
        "polyref": __version__,
        "format": job.written_format,
        **contents(job.reading),
        **contents(job.settings),
        **contents(tools),
        "files": hashes,
    }


def _lines(job: Job, losses: Losses, bad: BinaryIO | None, tally: Tally, engine: Engine | AutoEngine) -> Iterator[Line]:
    """The records that can be expanded; bad ones go to `bad`, if that is given.

    A file is looked through first: what is wrong with its last record is said before the work on all others. The engine
    is told how much there is to do.
    """

    def check(example: Example) -> None:
        texts = [reference.text for reference in example.references]
        check_references(texts, job.settings.text, example.line)
        if isinstance(engine, AutoEngine):
            engine.ahead += alignment_cells([len(text) // 5 for text in texts])

    input = job.source_file()
    started, before, is_file = perf_counter(), input.identity, input.can_be_read_again
    if is_file:
        with Path(os.devnull).open("wb") as nowhere:
            deque(input.checked(bad=None if bad is None else nowhere, check=check), maxlen=0)
        tally.spend("read", started)
    if is_file and bad is None:
        yield from input.records(losses=losses)
    else:
        yield from (line for line, _ in input.checked(losses=losses, bad=bad, check=check))
    if input.identity != before:
        raise changed(input.name)


def _results(chunks: Iterator[list[Line]], job: Job, tools: Tools, say: Callable[[str], None]) -> Iterator[Done]:
    """What became of the chunks, in order."""
    engine = tools.engine
    if job.tools.ray is not None:
        yield from _on_a_cluster(chunks, job, tools.usage, job.tools.ray)
        return
    if job.tools.workers == 1:
        yield from (_process(chunk, job, tools) for chunk in chunks)
        return
    if isinstance(engine, AutoEngine):
        # A small input is done before the first worker would have started.
        for chunk in chunks:
            yield _process(chunk, job, tools)
            if engine.wants_kernels(_cells(chunk)):
                break
        else:
            return
        fastest_engine(say)  # once, here, before the workers load it from disk
    set_up = partial(_set_up, job, tools.usage)
    yield from by_others(chunks, job, partial(in_order, set_up=set_up, workers=job.tools.workers))


def _on_a_cluster(chunks: Iterator[list[Line]], job: Job, usage: Usage, address: str) -> Iterator[Done]:
    with cluster.connected(address, job.tools.workers) as ray:
        actors = []
        if job.settings.align.align == "soft":
            actors = cluster.encoder_actors(ray, partial(job.tools.open_encoder, job.settings.align))
        set_up = partial(_set_up, job, usage, actors)
        yield from by_others(chunks, job, partial(cluster.in_order, set_up=set_up, ray=ray))


def by_others(chunks: Iterator[list[Line]], job: Job, work: Callable[..., Iterator[Done]]) -> Iterator[Done]:
    """What became of the chunks. One that processes die of is done once more, without the examples they die of.

    `work` has chunks done by other processes, in order: `in_order`, of which `lost` is still to be given.
    """

    def one_by_one(chunk: list[Line]) -> Done:
        found = Done(b"", Tally(), chunk[-1].position)
        for done in work(([line] for line in chunk), lost=partial(_set_aside, job=job)):
            found.content += done.content
            found.tally.add(done.tally)
            found.aside += done.aside
        return found

    return work(chunks, lost=one_by_one)


def _set_aside(chunk: list[Line], job: Job) -> Done:
    [line] = chunk
    problem = "worker processes died of this example (out of memory?)"
    if job.skip_bad is None:
        cure = "use fewer workers, or set it aside (skip_bad)"
        raise InputError(problem, cure, file=display_name(job.path), line=line.number)
    text = line.content.decode("utf-8", "backslashreplace")
    return Done(b"", Tally(), line.position, [{"line": line.number, "reason": problem, "record": text}])


def _set_up(job: Job, usage: Usage, actors: Sequence[Any] = ()) -> Callable[[list[Line]], Done]:
    """In a worker process: become ready for chunks. `actors` encode, if there are any."""

    def say(notice: str) -> None:
        """Nothing: the first process has said it."""

    name = job.tools.engine
    engine = fastest_engine(say) if name == "auto" else engine_named(name, say)
    encoder = cluster.RemoteEncoder(actors) if actors else None
    return partial(_process, job=job, tools=replace(_tools(job, engine, encoder), usage=usage))


def _cells(chunk: list[Line]) -> int:
    """Roughly what a chunk like this one costs in plain Python."""
    return sum(alignment_cells([len(line.content) // 25] * 5) for line in chunk)


def _tools(job: Job, engine: Engine | AutoEngine, encoder: Encoder | None = None) -> Tools:
    """What a process works with; its encoder, unless one is given."""
    encoder = encoder or job.tools.open_encoder(job.settings.align)
    model: LanguageModel | None = None
    if job.tools.language_model is not None:
        model = open_language_model(job.tools.language_model)
    elif isinstance(encoder, ContextEncoder):
        model = encoder
    if encoder is not None and job.tools.cache is not None:
        encoder = CachedEncoder(encoder, job.tools.cache)
    return Tools(engine, encoder, model)


def _usage(lines: list[Line], job: Job) -> Usage:
    """What the first examples tell about the words of the file."""
    with located(display_name(job.path)):
        return usage_of([parse(line, job.path, job.reading.fields) for line in lines], job.settings.text)


def _process(chunk: list[Line], job: Job, tools: Tools) -> Done:
    """Read, expand and render some lines."""
    tally = Tally()
    started = perf_counter()
    examples = [parse(line, job.path, job.reading.fields) for line in chunk]
    tally.spend("read", started)
    with located(display_name(job.path)):
        expanded = expand_chunk(examples, job.settings, tools, tally)
    started = perf_counter()
    if not FORMATS[job.written_format].holds_pseudo:
        # It knows but one kind of reference, and whoever expands to it wants to train on all of them.
        expanded = list(map(with_pseudo_as_references, expanded))
    content = "".join([render(example, job.reading.fields) + "\n" for example in expanded]).encode()
    tally.spend("write", started)
    return Done(content, tally, chunk[-1].position)
