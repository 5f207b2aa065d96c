"""`polyref report`: tables and figures of experiments."""

from __future__ import annotations

from typing import Annotated

from polyref.cli import options as o
from polyref.errors import SettingsError


@o.from_settings()
def report(
    folders: Annotated[list[str], o.argument("RECORDS", "Folders of records that polyref experiment has written.")],
    output: Annotated[str, o.output("Folder of the report.", "FOLDER")],
    case: Annotated[str | None, o.option("FILE", "Expanded examples, for a case study.")] = None,
    case_id: Annotated[str | None, o.option("ID", "Its example.  [default: the one with most sentences]")] = None,
    as_json: o.JsonOption = False,
) -> None:
    """Make tables and figures from the records of experiments.

    report.md has everything; each table is also CSV and LaTeX, each figure SVG and PNG. Figures need matplotlib: pip
    install "polyref[report]".
    """  # fmt: skip
    if case_id is not None and case is None:
        raise SettingsError("--case-id has no effect without --case", "add that, or leave it out")
    from polyref.report import write_report

    files = write_report(folders, output, case=case, case_id=case_id)
    told = f"{o.printable(str(files[-1]))}: {o.counted(len(files), 'file')} written\n"
    o.summarise({"files": [str(file) for file in files]}, told, as_json=as_json)
