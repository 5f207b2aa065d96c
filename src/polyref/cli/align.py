"""`polyref align`: how similar the words of two references are, and how they were aligned."""

from __future__ import annotations

from typing import Annotated

from polyref.align import AlignSettings
from polyref.cli import options as o
from polyref.cli.lattice import DrawSettings, about, heading, lattices_of, with_files
from polyref.data import Input, ReadSettings
from polyref.draw import MATRICES, save_matrix, suffix_of
from polyref.draw.aligned import compare
from polyref.errors import SettingsError
from polyref.scale import ToolSettings
from polyref.text import TextSettings


@o.from_settings(align=("merge_order",), tools=("language_model", "cache", "workers", "ray"))
def align(
    file: o.Input,
    *,
    pair: Annotated[tuple[str, str], o.option("I J", "Two references, by number or letter.")] = (
        "0",
        "1",
    ),
    output: Annotated[str | None, o.output("Draw it: svg, png, html or json; {id} in it.", "OUT")] = None,
    drawing: DrawSettings,
    align: AlignSettings,
    preset: o.PresetOption = None,
    text: TextSettings,
    tools: ToolSettings,
    reading: ReadSettings,
    as_json: o.JsonOption = False,
) -> None:
    """Show which words of two references are similar, and linked."""
    drawn = output is not None and suffix_of(output, MATRICES) != "json"  # before anything is read
    left, right = (_number(name) for name in pair)
    examples = Input.of(file, reading).examples(require_source=False)
    lattices = lattices_of(file, examples, drawing.id, align, text, tools)
    for example, merged, path in with_files(file, lattices, output):
        with about(file, example):
            comparison = compare(merged, left, right, drawn=drawn)
        if path is not None:
            title = heading(example) if drawing.title is None else drawing.title
            save_matrix(comparison, path, drawing.theme, title)
            facts = {"id": example.id, "pair": [left, right], "file": path}
            o.summarise(facts, o.printable(f"{example.id}: {path}") + "\n", as_json=as_json, stream=o.beside(path))
        else:
            o.tell(comparison.as_json() if as_json else f"{o.printable(example.id)}\n{comparison.as_table()}")


def _number(name: str) -> int:
    """A reference's number, from 0, of "0" or of "A"."""
    if name.isdecimal():
        return int(name)
    if len(name) == 1 and "A" <= name.upper() <= "Z":
        return ord(name.upper()) - ord("A")
    raise SettingsError(f'there is no reference "{name}"', "give numbers from 0 on, or letters as in drawings")
