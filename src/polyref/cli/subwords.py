"""`polyref subwords`: learn, apply and restore subwords."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from polyref.cli import options as o
from polyref.data import Input, ReadSettings, WriteSettings, open_output, read
from polyref.data.formats import SourceFormat
from polyref.data.opening import check_output_is_none_of, open_input, text_lines
from polyref.data.reading import are_lines, read_sources
from polyref.data.writing import check_not_input
from polyref.errors import InputError

if TYPE_CHECKING:
    from polyref.text.subwords import Subwords

Side = Literal["source", "target", "both"]
_LINES_AT_ONCE = 4096
_ONLY_LINES = ("format", "id_field", "source_field", "references_field")

Learned = Annotated[str, typer.Argument(metavar="SUBWORDS", help="What polyref subwords learn has written.")]
Lines = Annotated[str, typer.Argument(metavar="FILE", help="Text, line by line; - reads standard input.")]
Output = Annotated[str, typer.Option("-o", "--output", metavar="FILE", help="Where to.")]


@o.from_settings(reading=("format",))
def learn(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Data sets in any of the formats, or text (.txt, or --from lines)."),
    ],
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="Where to: a .json; - is standard output.")
    ],
    size: Annotated[int, typer.Option("--size", metavar="N", help="How many; 256 bytes and 3 marks are among them.")],
    reading: ReadSettings,
    side: Annotated[
        Side, typer.Option("--side", help="Of data sets: their sources, their gold references, or both together.")
    ] = "target",
    fold_case: Annotated[bool, typer.Option("--fold-case", help="Learn from small letters.")] = False,
    input_format: o.SourcesFromOption = None,
    as_json: o.JsonOption = False,
) -> None:
    """Learn subwords: byte-pair encoding over bytes, so that no text is unknown and none is changed.

    Needs tokenizers: pip install "polyref[torch]".
    """  # fmt: skip
    from polyref.text.subwords import Subwords

    for file in files:
        check_not_input(output, WriteSettings("jsonl"), Input.of(file))
    counted = 0

    def texts() -> Iterator[str]:
        nonlocal counted
        for file in files:
            for text in _texts(file, side, input_format, reading):
                counted += 1
                yield text.lower() if fold_case else text

    with open_output(output) as stream:
        found = Subwords.learn(texts(), size)
        stream.write(found.to_json().encode())
    _show(len(found), counted, output, as_json)
    if len(found) < size and not as_json:
        sys.stderr.write(f"polyref: fewer than {size:,}: no other pair of units comes twice\n")


def _show(subwords: int, texts: int, output: str, as_json: bool) -> None:
    # The summary goes where the subwords do not.
    stream = sys.stderr if o.is_standard_output(output) else sys.stdout
    if as_json:
        stream.write(json.dumps({"subwords": subwords, "texts": texts, "file": output}) + "\n")
    elif stream is sys.stdout:
        stream.write(f"{subwords:,} subwords from {_counted(texts)} in {o.printable(output)}\n")


def _counted(texts: int) -> str:
    return "1 text" if texts == 1 else f"{texts:,} texts"


def _texts(file: str, side: Side, format: SourceFormat | None, reading: ReadSettings) -> Iterator[str]:
    fields, max_line_bytes = reading.fields, reading.max_line_bytes
    if are_lines(file, format) or side == "source":
        for source in read_sources(file, fields, format=format, max_line_bytes=max_line_bytes):
            yield source.text
        return
    assert format != "lines"
    with_source = side == "both"
    for example in read(file, fields, format=format, require_source=with_source, max_line_bytes=max_line_bytes):
        if with_source:
            source = example.source
            yield source if isinstance(source, str) else json.dumps(source, ensure_ascii=False)
        yield from [reference.text for reference in example.references]


@o.from_settings(reading=_ONLY_LINES)
def apply(
    subwords: Learned,
    reading: ReadSettings,
    file: Lines = "-",
    output: Output = "-",
) -> None:
    """Cut the lines of a text into subwords, with a space between two.

    In a piece each byte is a letter; Ġ is a space. `restore` turns them back into exactly the text.
    """  # fmt: skip
    from polyref.text.subwords import Subwords

    check_output_is_none_of(output, {"the file of subwords": subwords})
    found = Subwords.load(subwords)
    units = found.units()

    def cut(lines: Sequence[str], first: int) -> list[str]:
        return [" ".join([units[number] for number in row]) for row in found.encode_all(lines)]

    _rewrite(file, output, cut, reading.max_line_bytes)


@o.from_settings(reading=_ONLY_LINES)
def restore(
    subwords: Learned,
    reading: ReadSettings,
    file: Lines = "-",
    output: Output = "-",
) -> None:
    """Turn lines of subwords back into text: what `apply` has cut, or what a trainer has generated of such pieces."""
    from polyref.text.subwords import Subwords

    check_output_is_none_of(output, {"the file of subwords": subwords})
    found = Subwords.load(subwords)
    numbers = {unit: number for number, unit in enumerate(found.units())}

    def join(lines: Sequence[str], first: int) -> list[str]:
        return [_restored(line, found, numbers, file, place) for place, line in enumerate(lines, first)]

    _rewrite(file, output, join, reading.max_line_bytes)


def _restored(line: str, subwords: Subwords, numbers: dict[str, int], file: str, place: int) -> str:
    row = []
    for piece in line.split():
        if piece not in numbers:
            problem, cure = f'"{piece[:40]}" is none of the subwords', "give the file that the text was cut with"
            raise InputError(problem, cure, file="<stdin>" if file == "-" else file, line=place)
        row.append(numbers[piece])
    return subwords.decode(row).replace("\n", " ")  # one line stays one line, whatever a model says


def _rewrite(file: str, output: str, change: Callable[[Sequence[str], int], list[str]], max_line_bytes: int) -> None:
    """Line by line; a last line without an end stays without one."""
    check_not_input(output, WriteSettings("jsonl"), Input.of(file))
    first = 1
    with open_input(file) as opened, open_output(output) as stream:
        lines = text_lines(opened, max_line_bytes=max_line_bytes, keep_ends=True)
        while some := list(islice(lines, _LINES_AT_ONCE)):
            ends = [line.endswith("\n") for line in some]
            changed = change([line.removesuffix("\n") for line in some], first)
            stream.write("".join([text + "\n" * end for text, end in zip(changed, ends, strict=True)]).encode())
            first += len(some)


VERBS: dict[str, Callable[..., None]] = {"learn": learn, "apply": apply, "restore": restore}

app = typer.Typer(
    help="Learn subwords, cut text into them, and turn them back into text.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
