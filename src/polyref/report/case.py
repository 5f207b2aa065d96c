"""The case study (Table 6 of the paper): one example with its references, its lattice and pseudo-references.

In:   a file of expanded examples; the id of one, or the one with the most sentences in its lattice.
Out:  its references, a drawing of the lattice, a table of pseudo-references with their BLEU.
Not:  expanding (expansion.py), drawing (draw/).
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

from polyref.data import read
from polyref.data.opening import display_name, located
from polyref.draw import draw_lattice
from polyref.draw.style import letter
from polyref.errors import InputError, SettingsError
from polyref.example import Example
from polyref.lattice import Lattice, PlainEngine, restore
from polyref.report.forms import Cell, Table

_SHOWN = 4  # of the best pseudo-references, and of the last


@dataclass(frozen=True, slots=True)
class Case:
    """`svg` is the lattice, with the best pseudo-reference marked."""

    title: str
    svg: str
    table: Table


def find_case(file: str | PathLike[str], id: str | None = None) -> Case:
    """The example with an id, or the first of those with the most sentences in their lattices."""
    name = display_name(str(file))
    chosen = (one for one in read(file) if one.lattice is not None and id in (None, one.id))
    found = max(chosen, key=lambda one: one.lattice.sentences if one.lattice else 0, default=None)
    if found is None or found.lattice is None:
        which = "an example" if id is None else f'an example with the id "{id}"'
        raise InputError(
            f"there is not {which} with a lattice", "give a file that polyref expand has written", file=name
        )
    sentences = found.lattice.sentences
    size = f"{sentences:,}" if sentences < 10**12 else f"{sentences:.2e}"
    alignment = (
        "hard alignment" if found.lattice.penalty is None else f"soft alignment, penalty {found.lattice.penalty:g}"
    )
    why = "The example with the most sentences in its lattice" if id is None else "An example"
    title = f"{why}: {found.id}, {size} sentences ({alignment})."
    with located(name, found.line):
        svg = _drawn(found)
    return Case(title, svg, _table(found, title))


def _drawn(example: Example) -> str:
    """The lattice that the file has kept; a hard one can be built again."""
    summary, texts = example.lattice, [reference.text for reference in example.references]
    assert summary is not None
    cure = "expand with --keep-lattice"
    if summary.kept is not None:
        lattice = restore(texts, summary.kept, penalty=summary.penalty, engine=PlainEngine(), line=example.line)
    elif summary.penalty is not None:
        raise InputError(f'the file does not keep the lattice of "{example.id}"', cure, line=example.line)
    else:
        lattice = Lattice.from_references(texts, engine=PlainEngine())
        if lattice.count != summary.sentences:
            problem = f'the lattice of "{example.id}" was made with other settings than the defaults'
            raise InputError(problem, cure, line=example.line)
    best = next(iter(example.pseudo_references), None)
    marked = lattice.sentence(best.text) if best is not None else None
    try:
        return draw_lattice(lattice, highlight=marked, legend=False)
    except SettingsError as error:
        raise InputError(str(error), "name a smaller example with --case-id", line=example.line) from None


def _table(example: Example, title: str) -> Table:
    """The references, by their letters in the drawing; the best pseudo-references and the last ones."""
    ranked = [(rank, one) for rank, one in enumerate(example.pseudo_references, 1) if not one.repeat]
    rows = [[Cell(str(rank)), Cell(one.text), Cell(f"{one.bleu:.1f}")] for rank, one in ranked]
    if len(rows) > 2 * _SHOWN:
        rows = [*rows[:_SHOWN], [Cell("…"), Cell("…"), Cell("…")], *rows[-_SHOWN:]]
    gold = [[Cell(letter(n)), Cell(one.text), Cell("")] for n, one in enumerate(example.references)]
    return Table(
        "case",
        title,
        [[Cell(""), Cell("References, and pseudo-references by rank"), Cell("BLEU")]],
        [*gold, *rows],
        2,
        [{"id": example.id, "rank": rank, "text": one.text, "bleu": one.bleu} for rank, one in ranked],
        rules=[len(gold)],
        latex_columns="rp{0.75\\linewidth}r",
    )
