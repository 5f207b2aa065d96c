"""`polyref stream`: the pairs of an epoch for any trainer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from polyref.cli import options as o
from polyref.data import Input, ReadSettings, WriteSettings, open_output
from polyref.data.corpus import indexed
from polyref.data.formats import format_of_name
from polyref.data.opening import located, open_outputs, without_compression
from polyref.data.writing import check_not_input, write_unique
from polyref.encode.opening import open_language_model
from polyref.errors import InputError, SettingsError
from polyref.example import Example
from polyref.expansion import Tools
from polyref.feed.lines import LineFormat, examples_of_epoch, first_broken, lines
from polyref.feed.stream import Stream, StreamSettings
from polyref.fresh import FreshSettings
from polyref.lattice import AutoEngine
from polyref.schedule.batches import BatchSettings, accounts
from polyref.schedule.schedules import shown
from polyref.settings import build, setting, settings

StreamFormat = Literal["tsv", "jsonl", "parallel", "prompt-completion", "preference", "coco", "karpathy"]
_EPOCH = "{epoch}"


@settings(group="Output")
class ShareSettings:
    """Which pairs are written, and how."""

    epoch: int = setting(0, "First epoch, counted from 0.", at_least=0, below=2**62, metavar="E")
    epochs: int = setting(1, "Number of epochs, one after the other.", at_least=1, below=2**31)
    start: int = setting(0, "Begin with pair N of the first epoch.", at_least=0, below=2**62)
    rank: int = setting(0, "Write the share of this rank, from 0 on.", at_least=0, below=2**31, metavar="R")
    ranks: int = setting(1, "Number of ranks.", at_least=1, below=2**31)
    pair_format: StreamFormat | None = setting(
        None, "parallel: FILE.src, FILE.trg.", unset="by name, or tsv", option="--format"
    )
    languages: str = setting("src,trg", "Endings of parallel text.", metavar="A,B", needs=("pair_format", "parallel"))

    def check_together(self) -> None:
        if self.rank >= self.ranks:
            problem = f"is {self.rank}, but --ranks is {self.ranks}"
            raise SettingsError(problem, "give less, as ranks are counted from 0", key="rank")
        names = self.endings
        if len(names) != 2 or not all(names) or names[0] == names[1] or "/" in self.languages:
            raise SettingsError(f'is "{self.languages}"', "give two different names, such as de,en", key="languages")

    @property
    def endings(self) -> list[str]:
        return [name.strip().lstrip(".") for name in self.languages.split(",")]


@o.from_settings(
    settings=("soft_targets", "temperature"),  # lines hold no distributions
    batch=("bucket",),
    writing=("format", "reference_columns", "pseudo_as_references"),
)
def stream(
    files: o.Inputs,
    *,
    settings: StreamSettings,
    language_model: Annotated[str | None, o.option("NAME", "Judges fluency: english, or a folder.")] = None,
    output: Annotated[str, o.output("Output; {epoch} gives one file per epoch.")] = "-",
    share: ShareSettings,
    writing: WriteSettings,
    count: Annotated[bool, typer.Option("--count", help="Only count pairs and updates of every schedule.")] = False,
    batch: Annotated[dict[str, Any], o.Given(BatchSettings, needs="--count")],
    index: Annotated[str | None, o.option("FOLDER", "Folder of indexes.  [default: user's cache]")] = None,
    reading: ReadSettings,
    as_json: o.JsonOption = False,
) -> None:
    """Write the pairs that a trainer sees in an epoch.

    A pair is a source and one reference; a schedule orders them. The same file, epoch and seed give the same pairs. TSV
    goes to standard output, for any trainer that reads a pipe.
    """  # fmt: skip
    if language_model is not None and (settings.fresh is None or settings.fresh.fluency is None):
        problem, cure = "has no effect without --fresh and --fluency", "add those, or leave it out"
        raise SettingsError(problem, cure, key="language_model")
    if count:
        _check_only_counting(output, share)
    elif batch:
        raise SettingsError("has no effect without --count", "add that, or leave it out", key=next(iter(batch)))
    input = Input.of(files, reading)
    target = _Target(output, _format(share.pair_format, output), share, writing.line_breaks, input)
    if index == "":
        raise SettingsError("has no name", "name a folder, or leave it out", key="index")
    place = None if index is None else Path(index)
    with ExitStack() as stack:
        with o.progress_bar("-", "indexing, once", "examples") as show:
            on_progress = partial(show, 0)
            corpus = stack.enter_context(indexed(input, folder=place, on_progress=on_progress))
        with located(input.name):
            pairs = Stream(corpus, settings, _tools(settings.fresh, language_model))
        if count:
            _count(pairs, batch, share.epochs, as_json)
        else:
            if share.pair_format is None:
                o.say_usual_format(output, "TSV", "--format")
            beside = o.beside(output)
            with located(input.name):
                facts = target.write(pairs)
            o.summarise(facts, _written(facts), as_json=as_json, stream=beside)
            if target.format == "preference" and pairs.rejected.missing:
                missing = o.counted(pairs.rejected.missing, "pair")
                o.say(f"{missing} not written: their lattices have no sentence that the rules leave out")
        if pairs.short and settings.fresh is not None:
            wanted = f"{settings.fresh.per_example} fresh paths that pass"
            o.say(f"{o.counted(pairs.short, 'time')} an example had fewer than {wanted}, and they are repeated")


def _written(facts: dict[str, Any]) -> str:
    """What a person is told: nothing where the pairs are what they see."""
    files = facts["files"]
    if files == ["-"]:
        return ""
    named = " and ".join(files) if len(files) < 3 else f"{len(files):,} files, {files[0]} to {files[-1]}"
    return f"{o.counted(facts['pairs'], 'pair')} in {o.printable(named)}\n"


def _tools(fresh: FreshSettings | None, language_model: str | None) -> Tools | None:
    """What fresh paths are drawn with."""
    if fresh is None:
        return None
    model = None if language_model is None else open_language_model(language_model)
    return Tools(AutoEngine(o.say), language_model=model)


@dataclass(frozen=True)
class _Target:
    """Where the pairs go."""

    output: str
    format: StreamFormat
    share: ShareSettings
    line_breaks: str
    input: Input

    def write(self, stream: Stream) -> dict[str, Any]:
        """Gives what was written: which epochs, how many pairs, and into which files."""
        epochs = range(self.share.epoch, self.share.epoch + self.share.epochs)
        if self._is_at_end(stream):
            epochs = epochs[1:]
        if self.format in ("coco", "karpathy"):
            files = self._write_examples(stream, epochs)
        else:
            self._check_breaks(stream)
            each = [epochs[n : n + 1] for n in range(len(epochs))] if _EPOCH in self.output else [epochs]
            files = [path for together in each for path in self._write_lines(stream, together)]
        shares = [stream.schedule.share(epoch, self.share.rank, self.share.ranks) for epoch in epochs]
        pairs = sum(shares) - (self.share.start if self.share.epoch in epochs else 0)
        pairs -= stream.rejected.missing if self.format == "preference" else 0
        return {"epochs": list(epochs), "pairs": pairs, "format": self.format, "files": files}

    def _is_at_end(self, stream: Stream) -> bool:
        """Whether nothing of the first epoch is left. To begin behind its end is refused: the count is of another."""
        share = self.share
        pairs = stream.schedule.share(share.epoch, share.rank, share.ranks)
        is_at_end = share.start == pairs > 0
        if share.start > pairs or (is_at_end and share.epochs == 1):
            many = "this share of an epoch has fewer" if share.ranks > 1 else f"an epoch has {len(stream):,}"
            cure = f"give less, or go on with --epoch {share.epoch + 1}"
            raise SettingsError(f"is {share.start:,}, but {many} pairs", cure, key="start")
        return is_at_end

    def _write_lines(self, stream: Stream, epochs: range) -> list[str]:
        share, path = self.share, self.output.replace(_EPOCH, str(epochs[0]))
        paths = self._two(path) if self.format == "parallel" else [path]
        for one in paths:
            check_not_input(one, self.input)
        with ExitStack() as stack:
            if self.format == "parallel":
                streams = stack.enter_context(open_outputs(paths))
            else:
                streams = [stack.enter_context(open_output(path))]
            written = partial(lines, stream, format=cast(LineFormat, self.format), rank=share.rank, ranks=share.ranks)
            for epoch in epochs:
                for pieces in written(epoch, start=share.start if epoch == share.epoch else 0):
                    for file, piece in zip(streams, pieces, strict=True):
                        file.write(piece)
        return paths

    def _two(self, path: str) -> list[str]:
        """The two files of parallel text; a suffix of compression stays at the end."""
        if path == "-":
            raise SettingsError("parallel text is two files", "give -o NAME, which makes NAME.src and NAME.trg")
        bare = without_compression(path)
        return [f"{bare}.{ending}{path[len(bare) :]}" for ending in self.share.endings]

    def _check_breaks(self, stream: Stream) -> None:
        """Refuse texts that the format has no way to write, before anything is written."""
        line = first_broken(stream, cast(LineFormat, self.format))
        if line and self.line_breaks == "refuse":
            what = "a text has a line break" if stream.corpus.broken == line else "a text has a tab"
            kind = "TSV" if self.format == "tsv" else "parallel text"
            cure = "choose --format jsonl, or --line-breaks space"
            raise InputError(f"{what}, which {kind} cannot hold", cure, file=self.input.name, line=line)

    def _write_examples(self, stream: Stream, epochs: range) -> list[str]:
        if len(epochs) > 1 and _EPOCH not in self.output:
            problem = f"a {self.format} file holds one epoch"
            raise SettingsError(problem, f"put {_EPOCH} into the name of the output")
        if self.share.start or self.share.ranks > 1:
            raise SettingsError(f"a {self.format} file holds a whole epoch", "leave --start and --ranks out")
        settings = WriteSettings(cast(Any, self.format))
        paths = [self.output.replace(_EPOCH, str(epoch)) for epoch in epochs]
        for epoch, path in zip(epochs, paths, strict=True):
            check_not_input(path, self.input)
            examples = self._with_other_keys(examples_of_epoch(stream, epoch))
            write_unique(examples, path, self.input.settings.fields, settings)
        return paths

    def _with_other_keys(self, examples: Iterator[Example]) -> Iterator[Example]:
        """The index knows sources and references; what else a loader needs, such as the split, is in the file."""
        if not self.input.can_be_read_again:
            yield from examples
            return
        for example, read_again in zip(examples, self.input.examples(), strict=True):
            yield replace(read_again, references=example.references, pseudo_references=(), lattice=None)


def _format(format: StreamFormat | None, output: str) -> StreamFormat:
    """The format that is asked for, or that the name of the output tells."""
    named = format_of_name(output)
    if format is None and named not in (None, "tsv", "jsonl"):
        raise SettingsError(f"{output}: the name does not tell how pairs are written", "give --format")
    return format or ("jsonl" if named == "jsonl" else "tsv")


# -- counting -------------------------------------------------------------------------------------------------------


def _check_only_counting(output: str, share: ShareSettings) -> None:
    """Refuse what has no effect where nothing is written."""
    given = (output != "-", share.start > 0, share.ranks > 1, share.pair_format is not None)
    for key, is_given in zip(("output", "start", "ranks", "pair_format"), given, strict=True):
        if is_given:
            raise SettingsError("has no effect with --count, which writes no pairs", "leave it out", key=key)


def _count(stream: Stream, given: dict[str, Any], epochs: int, as_json: bool) -> None:
    """Pairs and updates of every schedule, and the epochs that each needs for as many updates as the chosen one."""
    batch = build(BatchSettings, {"pairs": None, **given} if given else {})
    lengths = stream.lengths if batch.tokens is not None else None
    found = accounts(stream.schedule.sizes, batch, seed=stream.settings.schedule.seed, lengths=lengths)
    own = next(one for one in found if one.schedule == stream.schedule.settings.schedule)
    updates = own.updates * epochs
    if as_json:
        rows = [{**asdict(one), "epochs_for_as_many": round(one.epochs_for(updates), 2)} for one in found]
        o.tell(o.one_object({"updates": updates, "schedules": rows}))
        return
    sizes = {"pairs": batch.pairs, "tokens": batch.tokens}
    size = " and ".join([f"{number:,} {what}" for what, number in sizes.items() if number])
    many = f"{o.counted(epochs, 'epoch')} of {shown(own.schedule)}"
    o.tell(f"{'':<11}{'pairs':>12}{'updates':>12}   as many updates as {many}\n")
    for one in found:
        row = f"{shown(one.schedule):<11}{one.pairs:>12,}{one.updates:>12,}   {one.epochs_for(updates):,.2f} epochs"
        o.tell(row + "\n")
    o.tell(f"one epoch each; batches of {size}, which uniform cuts between examples\n")
