"""`polyref demo`: what polyref does, on examples that the package carries."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyref.data import read
from polyref.lattice import Lattice

if TYPE_CHECKING:
    from rich.text import Text

    from polyref.lattice import Sentence

_SAMPLE = Path(__file__).parent.parent / "data" / "sample.jsonl"
_SHOWN_EXAMPLES = 20
# One colour a reference; told apart on light and on dark terminals.
_COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red", "bright_cyan", "bright_magenta")


def demo(
    best: Annotated[int, typer.Option("--best", metavar="N", help="Pseudo-references shown an example.")] = 3,
) -> None:
    """Show pseudo-references of the sample examples, each word in the colour of a reference that says it."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    gold = pseudo = 0
    for example in islice(read(str(_SAMPLE)), _SHOWN_EXAMPLES):
        lattice = Lattice.from_references([reference.text for reference in example.references])
        console.print(f"\n[bold]{example.id}[/bold]  {len(example.references)} references, {lattice.count:,} sentences")
        for number, reference in enumerate(example.references):
            console.print(f"          {reference.text}", style=_COLOURS[number % len(_COLOURS)], markup=False)
        for sentence in _varied(lattice, best):
            line = _coloured(sentence)
            line.stylize("bold")
            console.print(f"  {sentence.bleu:6.1f}  ", end="")
            console.print(line)
        gold += len(example.references)
        pseudo += lattice.new
    console.print(f"\n{gold} references hold {pseudo:,} new sentences; polyref expand keeps the best of them.")


def _varied(lattice: Lattice, wanted: int) -> list[Sentence]:
    """The best sentences that differ from each other in more than a word or two."""
    chosen: list[Sentence] = []
    for sentence in lattice.best(30):
        words = set(sentence.words)
        if all(len(words ^ set(other.words)) > 3 for other in chosen):
            chosen.append(sentence)
        if len(chosen) == wanted:
            break
    return chosen


def _coloured(sentence: Sentence) -> Text:
    """Each word in the colour of a reference that says it; it stays with one reference as long as that goes on."""
    from rich.text import Text

    line = Text()
    current = -1
    position = 0
    for surface, origins in zip(sentence.surfaces, sentence.origins, strict=True):
        if current not in origins:
            current = origins[0]
        end = sentence.text.index(surface, position) + len(surface)
        line.append(sentence.text[position:end], style=_COLOURS[current % len(_COLOURS)])
        position = end
    return line
