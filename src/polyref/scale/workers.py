"""Expand a file with any number of worker processes: the same bytes whatever their number.

In:   a job: which file, where to, how.
Out:  the expanded file, written whole or not at all, and a tally.
Not:  expanding (expansion.py), processes (pool.py), the command line (cli/).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from time import perf_counter
from typing import BinaryIO

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
from polyref.data.opening import changed, display_name, located
from polyref.data.writing import check_not_input, open_bad, with_pseudo_as_references
from polyref.encode import DEFAULT, ContextEncoder, Encoder, VectorSettings, open_encoder
from polyref.encode.cache import CachedEncoder
from polyref.encode.opening import check_vectors, open_language_model
from polyref.errors import SettingsError
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
from polyref.scale.pool import in_order
from polyref.settings import part, setting, settings
from polyref.stats import Tally


@settings
class ToolSettings:
    """What expands, and with how many processes."""

    encoder: str | None = setting(
        None,
        "Vectors of soft alignment: english, a folder of your own, vectors:FILE (npz, GloVe or fastText text) or "
        "huggingface:NAME.",
        unset="english",
        metavar="NAME",
        clean=lambda name: name or None,
        needs=("align", "soft"),
    )
    vectors: VectorSettings = part(VectorSettings)
    language_model: str | None = setting(
        None,
        "What judges fluency and seams: english, or a folder of your own.",
        unset="the encoder if it can, else english",
        metavar="NAME",
    )
    cache: str | None = setting(
        None, "Keep the vectors of a costly encoder in this folder.", metavar="FOLDER", needs=("align", "soft")
    )
    engine: EngineName = setting("auto", "Plain Python or compiled kernels; the results are the same.")
    workers: int = setting(
        1, "Number of processes; the result does not depend on it.", at_least=1, at_most=1024, short="-w"
    )

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

    def __post_init__(self) -> None:
        check_encoder(self.settings.align, self.tools.encoder)
        if self.settings.align.align == "hard" and self.tools.cache is not None:
            problem = "has no effect with hard alignment, which encodes nothing"
            raise SettingsError(problem, "leave it out", key="cache")
        if not self.settings.reads and self.tools.language_model is not None:
            problem = "judges fluency and seams, and is asked for neither"
            raise SettingsError(problem, "set fluency, or set judge to seams", key="language_model")

    @property
    def path(self) -> str:
        """The file that messages name."""
        return self.input if isinstance(self.input, str) else self.input[0]

    @property
    def written_format(self) -> Format:
        # A name that does not tell the format is JSON Lines.
        return self.output_format or format_of_name(self.output) or "jsonl"

    def source_file(self) -> Input:
        """What is read."""
        return Input.of(self.input, self.reading)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come; `position` counts bytes of the input file."""

    examples: int
    position: int


@dataclass(frozen=True, slots=True)
class _Done:
    """What became of a chunk; `position` is its end in the input file."""

    content: bytes
    tally: Tally
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
    input = job.source_file()
    settings = WriteSettings(job.written_format)
    check_not_input(job.output, input, job.written_format)
    tally = Tally()
    tools = _tools(job, engine_named(job.tools.engine, say))
    report = WriteReport() if report is None else report
    with (
        open_bad(job.skip_bad, input, job.output) as bad,
        open_examples(job.output, job.reading.fields, settings, report) as stream,
    ):
        lines = _lines(job, report.not_read, bad, tally)
        if job.settings.judging.judge != "bleu":
            started = perf_counter()
            first = list(islice(lines, EXAMPLES_READ))
            tools = replace(tools, usage=_usage(first, job))
            lines = chain(first, lines)
            tally.spend("read", started)
        for done in _results(lines, job, tools, say):
            started = perf_counter()
            stream.write(done.content)
            tally.add(done.tally)
            tally.spend("write", started)
            on_progress(Progress(tally.examples, done.position))
    return tally


def _lines(job: Job, losses: Losses, bad: BinaryIO | None, tally: Tally) -> Iterator[Line]:
    """The records that can be expanded; bad ones go to `bad`, if that is given.

    A file is looked through first: what is wrong with its last record is said before the work on all others.
    """

    def check(example: Example) -> None:
        check_references([reference.text for reference in example.references], job.settings.text, example.line)

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


def _results(lines: Iterator[Line], job: Job, tools: Tools, say: Callable[[str], None]) -> Iterator[_Done]:
    """What became of the chunks, in order."""
    chunks = iter(lambda: list(islice(lines, CHUNK)), [])
    engine = tools.engine
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
    yield from in_order(chunks, partial(_set_up, job, tools.usage), workers=job.tools.workers)


def _set_up(job: Job, usage: Usage) -> Callable[[list[Line]], _Done]:
    """In a worker process: become ready for chunks."""

    def say(notice: str) -> None:
        """Nothing: the first process has said it."""

    engine = fastest_engine(say) if job.tools.engine == "auto" else engine_named(job.tools.engine, say)
    return partial(_process, job=job, tools=replace(_tools(job, engine), usage=usage))


def _cells(chunk: list[Line]) -> int:
    """Roughly what a chunk like this one costs in plain Python."""
    return sum(alignment_cells([len(line.content) // 25] * 5) for line in chunk)


def _tools(job: Job, engine: Engine | AutoEngine) -> Tools:
    """What a process works with."""
    encoder = job.tools.open_encoder(job.settings.align)
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


def _process(chunk: list[Line], job: Job, tools: Tools) -> _Done:
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
    return _Done(content, tally, chunk[-1].position)
