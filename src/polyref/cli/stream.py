"""`polyref stream`: the pairs of an epoch for any trainer."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from polyref.cli import options as o
from polyref.data import Fields, Input, ReadSettings, WriteSettings, open_output, read
from polyref.data.formats.format import LineBreaks
from polyref.data.opening import open_outputs
from polyref.data.writing import check_not_input, write_unique
from polyref.errors import InputError, SettingsError
from polyref.feed.stream import StreamSettings
from polyref.schedule.batches import BatchSettings
from polyref.schedule.schedules import check_epoch, shown
from polyref.settings import build

if TYPE_CHECKING:
    from polyref.example import Example
    from polyref.feed import Stream
    from polyref.feed.lines import LineFormat, Share
    from polyref.fresh import FreshSettings

StreamFormat = Literal["tsv", "jsonl", "parallel", "prompt-completion", "coco", "karpathy"]
_EPOCH = "{epoch}"
_SUFFIXES: dict[str, StreamFormat] = {".tsv": "tsv", ".jsonl": "jsonl"}


@o.from_settings(batch=("bucket",), writing=("format", "reference_columns", "pseudo_as_references"))
def stream(
    files: o.Inputs,
    settings: StreamSettings,
    batch: Annotated[dict[str, Any], o.Given(BatchSettings)],
    reading: ReadSettings,
    writing: WriteSettings,
    epoch: Annotated[
        int | None, typer.Option("--epoch", metavar="E", help="The epoch, counted from 0; with --epochs the first.")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option("--epochs", metavar="N", help="Number of epochs, one after the other.")
    ] = None,
    output: Annotated[
        str,
        typer.Option("-o", "--output", metavar="FILE", help="Where to; {epoch} in the name makes a file an epoch."),
    ] = "-",
    format: Annotated[
        StreamFormat | None,
        typer.Option("--format", help="parallel is two files, FILE.src and FILE.trg.  [default: tsv, or by the name]"),
    ] = None,
    languages: Annotated[
        str | None,
        typer.Option("--languages", metavar="A,B", help="Parallel: what the two names end in.  [default: src,trg]"),
    ] = None,
    language_model: Annotated[
        str | None, typer.Option("--language-model", metavar="NAME", help="What judges fluency: english or a folder.")
    ] = None,
    start: Annotated[int, typer.Option("--start", metavar="N", help="Begin with pair N of the first epoch.")] = 0,
    rank: Annotated[int, typer.Option("--rank", metavar="R", help="The share of rank R, from 0,")] = 0,
    ranks: Annotated[int, typer.Option("--ranks", metavar="N", help="of N.")] = 1,
    count: Annotated[bool, typer.Option("--count", help="Only count pairs and updates of every schedule.")] = False,
    index: Annotated[
        str | None, typer.Option("--index", metavar="FOLDER", help="Where indexes are kept.  [default: user's cache]")
    ] = None,
    reindex: Annotated[bool, typer.Option("--reindex", help="Index the file anew: it has changed.")] = False,
    as_json: o.JsonOption = False,
) -> None:
    """Write what a trainer sees in an epoch: pairs of a source and one reference, in the order of a schedule.

    The same pairs for the same file, epoch and seed. TSV goes to standard output, for any trainer that reads a pipe.
    """  # fmt: skip
    from polyref.data.corpus import indexed
    from polyref.feed import Stream
    from polyref.feed.lines import Share
    from polyref.schedule.schedules import check_share

    wanted = _epochs(epoch, epochs)
    if language_model is not None and (settings.fresh is None or settings.fresh.fluency is None):
        raise SettingsError("--language-model judges the fluency of fresh paths", "add --fresh N --fluency MARGIN")
    if count:
        _check_only_counting(output, start, ranks, format)
    _check_counting(count, batch, as_json)
    written = _format(format, output)
    endings = _endings(languages, written)
    input = Input.of(files, reading.format, reading.max_line_bytes)
    fields = reading.fields
    check_share(rank, ranks)
    if index == "":
        raise SettingsError("the folder of indexes has no name; give one, or leave --index out")
    place = None if index is None else Path(index)
    with ExitStack() as stack:
        with _progress(input.name) as on_progress:
            corpus = stack.enter_context(indexed(input, fields, folder=place, renew=reindex, on_progress=on_progress))
        pairs = _with_file(input.name, lambda: Stream(corpus, settings, _tools(settings.fresh, language_model)))
        if count:
            _count(pairs, batch, wanted, as_json)
            return
        share = Share(start, rank, ranks)
        _Target(output, written, endings, writing.line_breaks, share, input, fields).write(pairs, wanted)
        _say_short(pairs)


def _epochs(epoch: int | None, epochs: int | None) -> range:
    if epochs is not None and not 1 <= epochs < 2**31:
        cure = "give 1 or more" if epochs < 1 else "give less than 2^31"
        raise SettingsError(f"the number of epochs is {epochs}; {cure}")
    first = epoch or 0
    check_epoch(first)
    check_epoch(first + (epochs or 1) - 1)
    return range(first, first + (epochs or 1))


def _tools(fresh: FreshSettings | None, language_model: str | None) -> Any:
    """What fresh paths are drawn with."""
    if fresh is None:
        return None
    from polyref.encode.opening import open_language_model
    from polyref.expansion import Tools
    from polyref.lattice import AutoEngine

    model = None if language_model is None else open_language_model(language_model)
    return Tools(AutoEngine(o.say_compiling), language_model=model)


def _say_short(stream: Stream) -> None:
    fresh = stream.settings.fresh
    if stream.short and fresh is not None:
        number = f"{stream.short:,} time{'s' if stream.short > 1 else ''} an example"
        many = fresh.per_example
        sys.stderr.write(f"polyref: {number} had fewer than {many} fresh paths that pass, and repeats them\n")


def _with_file(file: str, make: Callable[[], Stream]) -> Stream:
    try:
        return make()
    except InputError as error:
        error.file = error.file or file
        raise


@dataclass(frozen=True)
class _Target:
    """Where the pairs go."""

    output: str
    format: StreamFormat
    endings: tuple[str, str]
    line_breaks: LineBreaks
    share: Share
    input: Input
    fields: Fields

    def write(self, stream: Stream, epochs: range) -> None:
        self._check_start(stream, epochs.start)
        if self.format in ("coco", "karpathy"):
            self._write_examples(stream, epochs)
            return
        format = cast("LineFormat", self.format)
        self._check_breaks(stream, format)
        for together in (epochs[n : n + 1] for n in range(len(epochs))) if _EPOCH in self.output else [epochs]:
            self._write_lines(stream, together, epochs.start, format)

    def _check_start(self, stream: Stream, epoch: int) -> None:
        """Refuse to begin behind the end: whoever goes on there has counted something else."""
        share = self.share
        if share.start and next(share.blocks(stream, epoch), None) is None:
            problem = f"epoch {epoch} has no pair {share.start:,}" + (" in this share" if share.ranks > 1 else "")
            raise SettingsError(f"{problem}; an epoch has {len(stream):,} pairs, go on in the next one")

    def _write_lines(self, stream: Stream, epochs: range, first: int, format: LineFormat) -> None:
        from polyref.feed.lines import Share, lines

        path = self.output.replace(_EPOCH, str(epochs[0]))
        with ExitStack() as stack:
            if format == "parallel":
                if path == "-":
                    raise SettingsError("parallel text is two files; give -o NAME, which makes NAME.src and NAME.trg")
                streams = stack.enter_context(open_outputs(self._two(path)))
            else:
                self._check_not_input(path)
                streams = [stack.enter_context(open_output(path))]
            for epoch in epochs:
                share = self.share if epoch == first else Share(0, self.share.rank, self.share.ranks)
                for pieces in lines(stream, epoch, format, share):
                    for file, piece in zip(streams, pieces, strict=True):
                        file.write(piece)

    def _two(self, path: str) -> list[str]:
        """The two files of parallel text; a suffix of compression stays at the end."""
        packing = next((suffix for suffix in (".gz", ".zst") if path.endswith(suffix)), "")
        paths = [f"{path.removesuffix(packing)}.{ending}{packing}" for ending in self.endings]
        for one in paths:
            self._check_not_input(one)
        return paths

    def _check_not_input(self, path: str) -> None:
        check_not_input(path, WriteSettings("jsonl"), self.input)

    def _check_breaks(self, stream: Stream, format: LineFormat) -> None:
        """Refuse texts that the format has no way to write, before anything is written."""
        from polyref.feed.lines import first_broken

        line = first_broken(stream, format)
        if line and self.line_breaks == "refuse":
            what = "a text has a line break" if stream.corpus.broken == line else "a text has a tab"
            kind = "TSV" if format == "tsv" else "parallel text"
            cure = "choose --format jsonl, or --line-breaks space"
            raise InputError(f"{what}, which {kind} cannot hold", cure, file=self.input.name, line=line)

    def _write_examples(self, stream: Stream, epochs: range) -> None:
        from polyref.feed.lines import examples_of_epoch

        if len(epochs) > 1 and _EPOCH not in self.output:
            raise SettingsError(f"a {self.format} file holds one epoch; put {_EPOCH} into the name of the output")
        if self.share.start or self.share.ranks > 1:
            raise SettingsError(f"a {self.format} file holds a whole epoch; leave --start and --ranks out")
        settings = WriteSettings(cast(Any, self.format))
        for epoch in epochs:
            path = self.output.replace(_EPOCH, str(epoch))
            self._check_not_input(path)
            write_unique(self._with_other_keys(examples_of_epoch(stream, epoch)), path, self.fields, settings)

    def _with_other_keys(self, examples: Iterator[Example]) -> Iterator[Example]:
        """The index knows sources and references; what else a loader needs, such as the split, is in the file."""
        if not self.input.can_be_read_again:
            yield from examples
            return
        input = self.input
        whole = read(input.paths, self.fields, format=input.format, max_line_bytes=input.max_line_bytes)
        for example, read_again in zip(examples, whole, strict=True):
            yield replace(read_again, references=example.references, pseudo_references=(), lattice=None)


def _format(format: StreamFormat | None, output: str) -> StreamFormat:
    """The format that is asked for, or that the name of the output tells."""
    if format is not None:
        return format
    bare = output.removesuffix(".gz").removesuffix(".zst")
    for suffix, found in _SUFFIXES.items():
        if bare.endswith(suffix):
            return found
    for suffix in (".parquet", ".csv", ".json", ".src"):
        if bare.endswith(suffix):
            raise SettingsError(f"{output}: the name does not tell how pairs are written; give --format")
    return "tsv"


def _endings(languages: str | None, format: StreamFormat) -> tuple[str, str]:
    if languages is not None and format != "parallel":
        raise SettingsError("--languages names the files of parallel text; add --format parallel")
    languages = "src,trg" if languages is None else languages
    names = [name.strip().lstrip(".") for name in languages.split(",")]
    if len(names) != 2 or not all(names) or names[0] == names[1] or any("/" in name for name in names):
        raise SettingsError(f'the languages are "{languages}"; give two different names with a comma, such as de,en')
    return names[0], names[1]


# -- counting -------------------------------------------------------------------------------------------------------


def _check_only_counting(output: str, start: int, ranks: int, format: StreamFormat | None) -> None:
    """Refuse what has no effect where nothing is written."""
    for option, is_given in (("-o", output != "-"), ("--start", start), ("--ranks", ranks > 1), ("--format", format)):
        if is_given:
            raise SettingsError(f"--count writes no pairs; leave {option} out")


def _check_counting(count: bool, batch: dict[str, Any], as_json: bool) -> None:
    if not count and (batch or as_json):
        option = f"--batch-{next(iter(batch))}" if batch else "--json"
        raise SettingsError(f"{option} has no effect without --count", "add that, or leave it out")


def _count(stream: Stream, given: dict[str, Any], epochs: range, as_json: bool) -> None:
    """Pairs and updates of every schedule, and how long each must run for as many updates as the one that is asked."""
    from polyref.schedule.batches import accounts

    batch = build(BatchSettings, {"pairs": None, **given} if given else {})
    lengths = stream.lengths if batch.tokens is not None else None
    found = accounts(stream.schedule.sizes, batch, seed=stream.settings.schedule.seed, lengths=lengths)
    own = next(one for one in found if one.schedule == stream.schedule.settings.schedule)
    updates = own.updates * len(epochs)
    if as_json:
        rows = [{**asdict(one), "epochs_for_as_many": round(one.epochs_for(updates), 2)} for one in found]
        sys.stdout.write(json.dumps({"updates": updates, "schedules": rows}) + "\n")
        return
    size = " and ".join(
        [f"{number:,} {what}" for number, what in ((batch.pairs, "pairs"), (batch.tokens, "tokens")) if number]
    )
    many = f"{len(epochs):,} epoch{'s' if len(epochs) > 1 else ''} of {shown(own.schedule)}"
    sys.stdout.write(f"{'':<12}{'pairs':>14}{'updates':>14}   as many updates as {many}\n")
    for one in found:
        row = f"{shown(one.schedule):<12}{one.pairs:>14,}{one.updates:>14,}   {one.epochs_for(updates):,.2f} epochs"
        sys.stdout.write(row + "\n")
    sys.stdout.write(f"an epoch each; batches of {size}, under uniform cut between examples\n")


@contextmanager
def _progress(name: str) -> Iterator[Callable[[int], None]]:
    """A line on standard error while a file is indexed; silent when that is no terminal."""
    if not sys.stderr.isatty():
        yield lambda examples: None
        return
    shown_any = False

    def show(examples: int) -> None:
        nonlocal shown_any
        shown_any = True
        sys.stderr.write(f"\rpolyref: indexing {o.printable(name)}, once: {examples:,} examples")
        sys.stderr.flush()

    yield show
    if shown_any:
        sys.stderr.write("\n")
