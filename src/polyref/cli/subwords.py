"""`polyref subwords`: learn, apply and restore subwords."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Annotated, Literal

import typer

from polyref.cli import options as o
from polyref.data import Input, ReadSettings, open_output
from polyref.data.formats import SourceFormat
from polyref.data.opening import check_output_is_none_of, display_name, open_input, text_lines
from polyref.data.reading import are_lines, read_sources
from polyref.data.writing import check_not_input
from polyref.errors import InputError
from polyref.text.subwords import Subwords

Side = Literal["source", "target", "both"]
_LINES_AT_ONCE = 4096
_ONLY_LINES = ("format", "id_field", "source_field", "references_field")

Learned = Annotated[str, o.argument("SUBWORDS", "Output of polyref subwords learn.")]
Lines = Annotated[str, o.argument("FILE", "Text, line by line; - is standard input.")]
Output = Annotated[str, o.output("Output; - is standard output.")]


@o.from_settings(reading=("format",))
def learn(
    files: Annotated[list[str], o.argument("FILE", "Data sets in any format, or text (.txt, or --from lines).")],
    *,
    output: Annotated[str, o.output("Output, a .json file; - is stdout.")],
    size: Annotated[int, o.option("N", "Number, with 256 bytes and 3 others.")],
    side: Annotated[Side, typer.Option(help="Texts of data sets that are read.")] = "target",
    fold_case: Annotated[bool, typer.Option("--fold-case", help="Turn the text into lower case first.")] = False,
    format: o.SourcesFromOption = None,
    reading: ReadSettings,
    as_json: o.JsonOption = False,
) -> None:
    """Learn subwords by byte-pair encoding.

    It works on bytes, so that no text is unknown and none is changed. Needs tokenizers: pip install "polyref[torch]".
    """  # fmt: skip
    for file in files:
        check_not_input(output, Input.of(file))
    counted, beside = 0, o.beside(output)

    def texts() -> Iterator[str]:
        nonlocal counted
        for file in files:
            for text in _texts(file, side, format, reading):
                counted += 1
                yield text.lower() if fold_case else text

    with open_output(output) as stream:
        found = Subwords.learn(texts(), size)
        stream.write(found.to_json().encode())
    facts = {"subwords": len(found), "texts": counted, "file": output}
    told = f"{len(found):,} subwords from {o.counted(counted, 'text')} in {o.printable(output)}\n"
    if as_json or beside is sys.stdout:
        o.summarise(facts, told, as_json=as_json, stream=beside)
    if len(found) < size and not as_json:
        o.say(f"fewer than {size:,}: no other pair of units occurs twice")


def _texts(file: str, side: Side, format: SourceFormat | None, reading: ReadSettings) -> Iterator[str]:
    if are_lines(file, format) or side == "source":
        for source in read_sources(file, reading, format=format):
            yield source.text
        return
    assert format != "lines"
    for example in Input.of(file, replace(reading, format=format)).examples(require_source=side == "both"):
        if side == "both":
            source = example.source
            yield source if isinstance(source, str) else json.dumps(source, ensure_ascii=False)
        yield from [reference.text for reference in example.references]


@o.from_settings(reading=_ONLY_LINES)
def apply(
    subwords: Learned, file: Lines = "-", *, output: Output = "-", reading: ReadSettings, as_json: o.JsonOption = False
) -> None:
    """Cut the lines of a text into subwords, with a space between two.

    A letter stands for each byte of a piece; Ġ stands for a space. `restore` gives back exactly the same text.
    """  # fmt: skip
    found = _loaded(subwords, output)
    units = found.units()

    def cut(lines: Sequence[str], first: int) -> list[str]:
        return [" ".join([units[number] for number in row]) for row in found.encode_all(lines)]

    _rewrite(file, output, cut, reading.max_line_bytes, as_json)


@o.from_settings(reading=_ONLY_LINES)
def restore(
    subwords: Learned, file: Lines = "-", *, output: Output = "-", reading: ReadSettings, as_json: o.JsonOption = False
) -> None:
    """Turn lines of subwords back into text.

    They are the output of `apply`, or of a model that was trained on it.
    """  # fmt: skip
    found = _loaded(subwords, output)
    numbers = {unit: number for number, unit in enumerate(found.units())}

    def join(lines: Sequence[str], first: int) -> list[str]:
        texts = []
        for place, line in enumerate(lines, first):
            pieces = line.split()
            if unknown := [piece for piece in pieces if piece not in numbers]:
                problem = f'"{unknown[0][:40]}" is not one of the subwords'
                cure = "give the file that the text was cut with"
                raise InputError(problem, cure, file=display_name(file), line=place)
            # One line stays one line, whatever a model generates.
            texts.append(found.decode([numbers[piece] for piece in pieces]).replace("\n", " "))
        return texts

    _rewrite(file, output, join, reading.max_line_bytes, as_json)


def _loaded(subwords: str, output: str) -> Subwords:
    check_output_is_none_of(output, {"the file of subwords": subwords})
    return Subwords.load(subwords)


def _rewrite(
    file: str, output: str, change: Callable[[Sequence[str], int], list[str]], max_line_bytes: int, as_json: bool
) -> None:
    """Line by line; a last line without an end stays without one."""
    check_not_input(output, Input.of(file))
    first, beside = 1, o.beside(output)
    with open_input(file) as opened, open_output(output) as stream:
        lines = text_lines(opened, max_line_bytes=max_line_bytes, keep_ends=True)
        while some := list(islice(lines, _LINES_AT_ONCE)):
            ends = [line.endswith("\n") for line in some]
            changed = change([line.removesuffix("\n") for line in some], first)
            stream.write("".join([text + "\n" * end for text, end in zip(changed, ends, strict=True)]).encode())
            first += len(some)
    if as_json:  # a person who asks for lines wants nothing else
        o.summarise({"lines": first - 1, "file": output}, "", as_json=True, stream=beside)


VERBS = {"learn": learn, "apply": apply, "restore": restore}
HELP = "Learn subwords, cut text into them, and restore it."
