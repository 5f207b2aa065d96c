"""`polyref matrix`: how alike the words of two references are, and how they were aligned."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from polyref.cli import options as o
from polyref.cli.lattices import Lattices, about, with_files
from polyref.data import MAX_LINE_BYTES, Fields
from polyref.errors import SettingsError
from polyref.text import TextSettings


def matrix(
    file: o.Input,
    id: o.Id = None,
    pair: Annotated[
        tuple[str, str],
        typer.Option("--pair", metavar="I J", help="Which references: counted from 0, or by letters as in drawings."),
    ] = ("0", "1"),
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="OUT", help="Draw it: svg, png, html or json; {id} in the name."),
    ] = None,
    theme: o.ThemeOption = "auto",
    title: o.TitleOption = None,
    align: o.AlignOption = "hard",
    encoder: o.EncoderOption = None,
    penalty: o.PenaltyOption = None,
    start: o.StartOption = None,
    step: o.StepOption = None,
    floor: o.FloorOption = None,
    at_least: o.AtLeastOption = None,
    similarity: o.SimilarityOption = None,
    veto: o.VetoOption = None,
    position: o.PositionOption = None,
    baseline: o.BaselineOption = None,
    preset: o.PresetOption = None,
    tokenizer: o.TokenizerOption = "words",
    keep_case: o.KeepCase = False,
    engine: o.EngineOption = "auto",
    input_format: o.FromOption = None,
    id_field: o.IdField = "id",
    source_field: o.SourceField = "source",
    references_field: o.ReferencesField = "references",
    max_line_bytes: o.MaxLineBytes = MAX_LINE_BYTES,
    as_json: o.JsonOption = False,
) -> None:
    """Show how alike the words of two references are, and which of them are linked. Draw it with -o."""
    from polyref.draw import MATRICES, save_matrix, suffix_of
    from polyref.draw.aligned import compare

    adaptive = {"start": start, "step": step, "floor": floor, "at_least": at_least}
    settings = o.align_settings(align, similarity, penalty, adaptive, "tree", preset, veto, position, baseline)
    text = TextSettings(tokenizer, fold_case=not keep_case)
    fields = Fields(id_field, source_field, references_field)
    if output is not None:
        suffix_of(output, MATRICES)  # before anything is read
    left, right = (_number(name) for name in pair)
    lattices = Lattices(file, id, fields, max_line_bytes, settings, text, encoder, engine, input_format)
    for example, merged, path in with_files(lattices, output):
        with about(file, example):
            comparison = compare(merged, left, right)
        if path is not None:
            save_matrix(comparison, path, theme, title)
        else:
            sys.stdout.write(comparison.as_json() if as_json else f"{example.id}\n{comparison.as_table()}")


def _number(name: str) -> int:
    """A reference's number, from 0, of "0" or of "A"."""
    if name.isdecimal():
        return int(name)
    if len(name) == 1 and "A" <= name.upper() <= "Z":
        return ord(name.upper()) - ord("A")
    raise SettingsError(f'there is no reference "{name}"; give numbers from 0 on, or letters as in drawings')
