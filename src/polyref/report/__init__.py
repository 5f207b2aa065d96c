"""Tables and figures of experiments, from their records alone.

In:   folders of records, as `polyref experiment` writes them; a file of expanded examples for the case study.
Out:  a folder: report.md with everything, each table as CSV and LaTeX, each figure as SVG and PNG.
Not:  running experiments (experiment/), what the parts are (records.py, tables.py, figures.py, case.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from polyref.data.opening import open_outputs
from polyref.errors import InputError
from polyref.files import make_folder
from polyref.report.case import Case, find_case
from polyref.report.figures import Picture, figures_of
from polyref.report.forms import Table, as_csv, as_latex, as_markdown, in_markdown
from polyref.report.records import Records, read_records
from polyref.report.tables import tables_of
from polyref.settings import counted

AnyPath = str | PathLike[str]
REPORT = "report.md"


def write_report(
    folders: Sequence[AnyPath], output: AnyPath, *, case: AnyPath | None = None, case_id: str | None = None
) -> list[Path]:
    """Write the report of some folders of records; gives the files. None is written unless all can be."""
    sections = [read_records(Path(folder)) for folder in folders]
    contents: dict[str, bytes] = {}
    text = ["# Report\n"]
    for records in sections:
        prefix = _prefix(records, sections)
        text.append(f"## {in_markdown(records.title)}\n\n{in_markdown(_state(records))}\n")
        tables, figures = tables_of(records), list(figures_of(records))
        text += [_with_table(table, prefix, contents) for table in tables]
        text += [_with_figure(figure, prefix, contents) for figure in figures]
    if case is not None:
        text.append(_with_case(find_case(case, case_id), contents))
    contents[REPORT] = "\n".join(text).encode()
    place = make_folder(output)
    paths = [place / name for name in contents]
    with open_outputs([str(path) for path in paths]) as streams:
        for stream, content in zip(streams, contents.values(), strict=True):
            stream.write(content)
    return paths


def _prefix(records: Records, sections: Sequence[Records]) -> str:
    """What the names of a grid's files begin with."""
    names = [re.sub(r"[^\w.-]+", "-", one.name).strip(".-") or "grid" for one in sections]
    own = names[sections.index(records)]
    if names.count(own) > 1:
        raise InputError(
            f'"name" is "{records.name}" in two of the grids',
            "rename one of the grid files, and run polyref experiment again",
            file=records.file,
        )
    return own


def _state(records: Records) -> str:
    """How much of it is there, and by which versions."""
    versions = dict.fromkeys(f"{name} {version}" for run in records.runs for name, version in run.versions.items())
    by = f" Versions: {', '.join(versions)}." if versions else ""
    seeds = f"seed {records.seeds[0]}" if len(records.seeds) == 1 else f"seeds {', '.join(map(str, records.seeds))}"
    others = f" Left out: {counted(records.left_out, 'record')} of other cells, seeds, settings or data."
    state = f"{len(records.runs):,} of {records.planned:,} planned runs are there ({seeds})."
    return state + (others if records.left_out else "") + by


def _with_table(table: Table, prefix: str, contents: dict[str, bytes]) -> str:
    name = f"{prefix}-{table.name}"
    contents[f"{name}.csv"] = as_csv(table).encode()
    contents[f"{name}.tex"] = as_latex(table, name).encode()
    return f"**{in_markdown(table.title)}** ([CSV]({name}.csv), [LaTeX]({name}.tex))\n\n{as_markdown(table)}"


def _with_figure(figure: Picture, prefix: str, contents: dict[str, bytes]) -> str:
    name = f"{prefix}-{figure.name}"
    contents[f"{name}.svg"], contents[f"{name}.png"] = figure.svg, figure.png
    title = in_markdown(figure.title)
    return f"![{title}]({name}.svg)\n\n**{title}** ([SVG]({name}.svg), [PNG]({name}.png))\n"


def _with_case(case: Case, contents: dict[str, bytes]) -> str:
    contents["case.svg"], contents["case.csv"] = case.svg.encode(), as_csv(case.table).encode()
    contents["case.tex"] = as_latex(case.table, "case").encode()
    files = "[SVG](case.svg), [CSV](case.csv), [LaTeX](case.tex)"
    return (
        f"## Case study\n\n**{in_markdown(case.title)}** ({files})\n\n"
        f"![Lattice of the references](case.svg)\n\n{as_markdown(case.table)}"
    )
