"""A table in three forms: Markdown, CSV and LaTeX.

In:   a Table: cells as they are shown, and the numbers behind them.
Out:  its text in each form. Markdown and LaTeX show the same cells; CSV has one line per number, for programs.
Not:  what the tables are about (tables.py, case.py).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from polyref.draw.export import in_tex

SAME = "←"  # Markdown has no cells that span columns
_WIDE = 7  # columns that a page of two columns has room for in one of them


@dataclass(frozen=True, slots=True)
class Cell:
    """A text; `span` is the number of columns that it stands in."""

    text: str
    span: int = 1
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """`header` may have several rows. The first `labels` columns name a row, the others hold numbers.

    `numbers` are the lines of the CSV file; all have the same keys.
    """

    name: str
    title: str
    header: Sequence[Sequence[Cell]]
    rows: Sequence[Sequence[Cell]]
    labels: int
    numbers: Sequence[Mapping[str, object]]
    notes: Sequence[str] = field(default=())
    rules: Sequence[int] = field(default=())  # rows that begin a block
    fine_print: Sequence[str] = field(default=())  # a comment in LaTeX
    latex_columns: str = ""

    @property
    def width(self) -> int:
        return sum(cell.span for cell in self.header[-1])


def as_markdown(table: Table) -> str:
    """A table with one row of titles, and its notes."""
    titles = [_joined(parts) for parts in zip(*map(_spread, table.header), strict=True)]
    marks = ["---" if column < table.labels else "---:" for column in range(table.width)]
    lines = [titles, marks]
    for row in table.rows:
        line: list[str] = []
        for cell in row:
            text = in_markdown(cell.text)
            line += [f"**{text}**" if cell.bold and text else text, *[SAME if text else ""] * (cell.span - 1)]
        lines.append(line)
    found = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return found + "".join(f"\n{in_markdown(note)}\n" for note in (*table.notes, *table.fine_print))


def _spread(row: Sequence[Cell]) -> list[str]:
    return [in_markdown(cell.text) for cell in row for _ in range(cell.span)]


def _joined(parts: Sequence[str]) -> str:
    return ", ".join(part for part in dict.fromkeys(parts) if part)


def in_markdown(text: str) -> str:
    """A text on one line whose characters Markdown shows as they are."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(text.split()))


def as_csv(table: Table) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    if table.numbers:
        writer.writerow(table.numbers[0])
    for line in table.numbers:
        writer.writerow([_plain(value) for value in line.values()])
    return stream.getvalue()


def _plain(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else value


def as_latex(table: Table, label: str) -> str:
    """A table with caption and label; the document needs the package booktabs."""
    kind = "table*" if table.width > _WIDE else "table"
    columns = table.latex_columns or "l" * table.labels + "r" * (table.width - table.labels)
    lines = [
        "% needs \\usepackage{booktabs}",
        *(f"% {' '.join(note.split())}" for note in table.fine_print),
        f"\\begin{{{kind}}}[tb]",
        "\\centering\\small",
        f"\\begin{{tabular}}{{{columns}}}",
        "\\toprule",
    ]
    for row, below in pairwise([*table.header, None]):
        lines.append(_tex_row(row or ()))
        if below is not None:
            lines.append(_partial_rules(row or ()))
    lines.append("\\midrule")
    for number, row in enumerate(table.rows):
        if number in table.rules:
            lines.append("\\midrule")
        # Inside a block, the first column need not say again what it has said.
        says_again = table.rules and number not in table.rules and number and row[0] == table.rows[number - 1][0]
        lines.append(_tex_row([Cell(""), *row[1:]] if says_again else row))
    caption = " ".join([table.title, *table.notes])
    lines += ["\\bottomrule", "\\end{tabular}", f"\\caption{{{latex(caption)}}}", f"\\label{{tab:{label}}}"]
    return "\n".join([*lines, f"\\end{{{kind}}}"]) + "\n"


def _tex_row(row: Sequence[Cell]) -> str:
    cells = []
    for cell in row:
        text = latex(cell.text)
        text = f"\\textbf{{{text}}}" if cell.bold and text else text
        cells.append(f"\\multicolumn{{{cell.span}}}{{c}}{{{text}}}" if cell.span > 1 else text)
    return " & ".join(cells) + " \\\\"


def _partial_rules(row: Sequence[Cell]) -> str:
    """Lines under titles that stand over several columns."""
    rules, column = [], 1
    for cell in row:
        if cell.span > 1:
            rules.append(f"\\cmidrule(lr){{{column}-{column + cell.span - 1}}}")
        column += cell.span
    return "".join(rules)


_SIGNS = {"±": "$\\pm$", "−": "$-$", "…": "\\ldots{}", "≥": "$\\ge$", "⟨": "$\\langle$", "⟩": "$\\rangle$"}


def latex(text: str) -> str:
    """A text for LaTeX, with the signs that tables have."""
    return "".join(_SIGNS.get(character, character) for character in in_tex(text))
