"""`polyref lattice`: look at the lattices of a file's examples, and draw them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyref.align import AlignSettings
from polyref.cli import options as o
from polyref.cli.lattices import Lattices, about, with_files
from polyref.data import ReadSettings
from polyref.data.formats.jsonl import decimal_text
from polyref.data.opening import read_lines
from polyref.errors import InputError, SettingsError
from polyref.lattice import Lattice, SearchSettings, Sentence
from polyref.scale import ToolSettings
from polyref.text import TextSettings

if TYPE_CHECKING:
    from polyref.example import Example

MOST_SENTENCES = 10_000  # an example, as expand has it


@o.from_settings(tools=("language_model", "cache", "workers"), search=("tie_limit", "unseen_marks"))
def lattice(
    file: o.Input,
    align: AlignSettings,
    text: TextSettings,
    search: SearchSettings,
    tools: ToolSettings,
    reading: ReadSettings,
    id: o.Id = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="OUT", help="Write it: svg, png, html, tex, dot, fst or json; {id} in the name."
        ),
    ] = None,
    highlight: Annotated[
        str,
        typer.Option("--highlight", metavar="N|TEXT", help="Mark the N-th best sentence, or a text; 0 marks none."),
    ] = "1",
    theme: o.ThemeOption = "auto",
    title: o.TitleOption = None,
    steps: Annotated[bool, typer.Option("--steps", help="Show the references side by side, and each merge.")] = False,
    best: Annotated[int, typer.Option("--best", metavar="N", help="Add the N best new sentences by BLEU.")] = 0,
    listed: Annotated[int, typer.Option("--list", metavar="N", help="Add the first N sentences, gold ones too.")] = 0,
    sample: Annotated[
        int, typer.Option("--sample", metavar="N", help="Add N sentences drawn uniformly, gold ones too.")
    ] = 0,
    score: Annotated[
        str | None, typer.Option("--score", metavar="FILE", help="Score the sentences of a file, one a line.")
    ] = None,
    preset: o.PresetOption = None,
    as_json: o.JsonOption = False,
) -> None:
    """Show the lattice of each example: its size, how many sentences it holds, and some of them; or draw it."""
    show = _Show(best, listed, sample, None if score is None else _sentences(score), steps, search)
    if output is not None:
        from polyref.draw import GRAPHS, PICTURES, suffix_of

        suffix_of(output, PICTURES if steps else PICTURES + GRAPHS)  # before anything is read
    lattices = Lattices(file, id, reading, align, text, tools)
    for example, merged, path in with_files(lattices, output):
        report = show.report(example, merged)
        if path is not None:
            with about(file, example):
                marked = _highlighted(merged, highlight, search)
                merged.save(path, highlight=marked, theme=theme, title=title, steps=steps)
        sys.stdout.write(json.dumps(report, ensure_ascii=False) + "\n" if as_json else _for_a_person(report, example))


@dataclass(frozen=True)
class _Show:
    """What is told about each lattice."""

    best: int
    listed: int
    sample: int
    scored: list[str] | None
    steps: bool
    search: SearchSettings

    def __post_init__(self) -> None:
        for name, value in (("best", self.best), ("list", self.listed), ("sample", self.sample)):
            if not 0 <= value <= MOST_SENTENCES:
                raise SettingsError(f"--{name} is {value}; give a number from 0 to {MOST_SENTENCES:,}")

    def report(self, example: Example, merged: Lattice) -> dict[str, Any]:
        report: dict[str, Any] = {
            "id": example.id,
            "states": merged.states,
            "arcs": len(merged.arcs),
            "sentences": decimal_text(merged.count),
            "new": decimal_text(merged.new),
            "pieces": merged.pieces,
            "penalty": merged.penalty,
            "deterministic": merged.deterministic,
        }
        if self.steps:
            report["steps"] = [
                {
                    "pair": step.pair,
                    "links": len(step.links),
                    "worth": round(step.worth, 4),
                    "sentences": decimal_text(step.lattice.count),
                }
                for step in merged.steps()
            ]
        if self.best:
            best = merged.best(self.best, self.search)
            report["best"] = [{"text": sentence.text, "bleu": round(sentence.bleu, 2)} for sentence in best]
        if self.listed:
            report["list"] = [sentence.text for sentence in islice(merged.sentences(), self.listed)]
        if self.sample:
            report["sample"] = [sentence.text for sentence in merged.sample(self.sample, self.search.seed)]
        if self.scored is not None:
            report["score"] = [
                {"text": given, "bleu": round(merged.bleu(given), 2), "in_lattice": given in merged}
                for given in self.scored
            ]
        return report


def _highlighted(merged: Lattice, wanted: str, search: SearchSettings) -> Sentence | int | str | None:
    """The sentence that --highlight names, by the same settings as --best."""
    if not wanted.isdecimal():
        return wanted
    rank = int(wanted)
    best = merged.best(rank, search) if 0 < rank <= MOST_SENTENCES else []
    return best[-1] if best and len(best) == rank else rank


def _sentences(path: str) -> list[str]:
    lines = []
    for line in read_lines(path, holds="one sentence a line"):
        try:
            lines.append(line.content.decode("utf-8"))
        except UnicodeDecodeError:
            raise InputError("not UTF-8", "save the file as UTF-8", file=path, line=line.number) from None
    return lines


def _for_a_person(report: dict[str, Any], example: Example) -> str:
    return "".join(line + "\n" for line in _lines(report, example))


def _lines(report: dict[str, Any], example: Example) -> Iterator[str]:
    pieces = "" if report["pieces"] == 1 else f", in {report['pieces']} pieces"
    size = f"{len(example.references)} references, {report['states']} states, {report['arcs']} arcs{pieces}"
    yield f"{report['id']}: {size}; {_commas(report['sentences'])} sentences, {_commas(report['new'])} of them new"
    for number, step in enumerate(report.get("steps", ())):
        merged = "side by side" if step["pair"] is None else f"{_pair(step['pair'])} merged, {step['links']} links"
        yield f"   ({chr(ord('a') + number)})  {merged}: {_commas(step['sentences'])} sentences"
    for sentence in report.get("best", ()):
        yield f"  {sentence['bleu']:6.2f}  {sentence['text']}"
    for name in ("list", "sample"):
        for sentence in report.get(name, ()):
            yield f"  {name:>6}  {sentence}"
    for sentence in report.get("score", ()):
        where = "in" if sentence["in_lattice"] else "not in"
        yield f"  {sentence['bleu']:6.2f}  {where} the lattice: {sentence['text']}"


def _pair(pair: tuple[int, int]) -> str:
    """Two references by their letters, as in drawings."""
    return " and ".join(chr(ord("A") + reference) for reference in pair)


def _commas(number: str) -> str:
    return f"{int(number):,}" if len(number) < 20 else f"{number[0]}.{number[1:3]}e{len(number) - 1}"
