"""`polyref lattice`: look at the lattices of a file's examples."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyref.cli import options as o
from polyref.data import MAX_LINE_BYTES, Fields, read
from polyref.data.jsonl import decimal_text
from polyref.data.lines import display_name, read_lines
from polyref.encode import open_encoder
from polyref.errors import InputError, SettingsError
from polyref.lattice import NODE_BUDGET, Lattice, SearchSettings, engine_named
from polyref.text import TextSettings

if TYPE_CHECKING:
    from polyref.example import Example

MOST_SENTENCES = 10_000  # an example, as expand has it


def lattice(
    file: o.Input,
    id: Annotated[str | None, typer.Option("--id", metavar="ID", help="Only the example with this id.")] = None,
    best: Annotated[int, typer.Option("--best", metavar="N", help="Add the N best new sentences by BLEU.")] = 0,
    listed: Annotated[int, typer.Option("--list", metavar="N", help="Add the first N sentences, gold ones too.")] = 0,
    sample: Annotated[
        int, typer.Option("--sample", metavar="N", help="Add N sentences drawn uniformly, gold ones too.")
    ] = 0,
    score: Annotated[
        str | None, typer.Option("--score", metavar="FILE", help="Score the sentences of a file, one a line.")
    ] = None,
    align: o.AlignOption = "hard",
    encoder: o.EncoderOption = None,
    penalty: o.PenaltyOption = None,
    start: o.StartOption = None,
    step: o.StepOption = None,
    floor: o.FloorOption = None,
    at_least: o.AtLeastOption = None,
    similarity: o.SimilarityOption = None,
    preset: o.PresetOption = None,
    merge_order: o.MergeOrderOption = "tree",
    tokenizer: o.TokenizerOption = "words",
    keep_case: o.KeepCase = False,
    min_bleu: o.MinBleu = None,
    seed: o.SeedOption = 0,
    node_budget: o.NodeBudget = NODE_BUDGET,
    engine: o.EngineOption = "auto",
    id_field: o.IdField = "id",
    source_field: o.SourceField = "source",
    references_field: o.ReferencesField = "references",
    max_line_bytes: o.MaxLineBytes = MAX_LINE_BYTES,
    as_json: o.JsonOption = False,
) -> None:
    """Show the lattice of each example: its size, how many sentences it holds, and some of them."""  # fmt: skip
    for name, value in (("best", best), ("list", listed), ("sample", sample)):
        if not 0 <= value <= MOST_SENTENCES:
            raise SettingsError(f"--{name} is {value}; give a number from 0 to {MOST_SENTENCES:,}")
    adaptive = {"start": start, "step": step, "floor": floor, "at_least": at_least}
    settings = o.align_settings(align, similarity, penalty, adaptive, merge_order, preset)
    search = SearchSettings(seed, min_bleu, node_budget)
    text = TextSettings(tokenizer, fold_case=not keep_case)
    opened = open_encoder(encoder) if encoder is not None else None
    scored = None if score is None else _sentences(score)
    fields = Fields(id_field, source_field, references_field)
    examples = read(file, fields, require_source=False, max_line_bytes=max_line_bytes)
    chosen = engine_named(engine, o.say_compiling)
    found = False
    for example in examples:
        if id is not None and example.id != id:
            continue
        found = True
        texts = [reference.text for reference in example.references]
        try:
            merged = Lattice.from_references(texts, align=settings, text=text, encoder=opened, engine=chosen)
        except InputError as error:
            raise InputError(error.problem, error.cure, file=display_name(file), line=example.line) from None
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
        if best:
            report["best"] = [{"text": s.text, "bleu": round(s.bleu, 2)} for s in merged.best(best, search)]
        if listed:
            report["list"] = [sentence.text for sentence in islice(merged.sentences(), listed)]
        if sample:
            report["sample"] = [sentence.text for sentence in merged.sample(sample, seed)]
        if scored is not None:
            report["score"] = [
                {"text": given, "bleu": round(merged.bleu(given), 2), "in_lattice": given in merged} for given in scored
            ]
        sys.stdout.write(json.dumps(report, ensure_ascii=False) + "\n" if as_json else _for_a_person(report, example))
    if not found:
        raise InputError(f'there is no example with the id "{id}"', "check the id", file=display_name(file))


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
    for sentence in report.get("best", ()):
        yield f"  {sentence['bleu']:6.2f}  {sentence['text']}"
    for name in ("list", "sample"):
        for sentence in report.get(name, ()):
            yield f"  {name:>6}  {sentence}"
    for sentence in report.get("score", ()):
        where = "in" if sentence["in_lattice"] else "not in"
        yield f"  {sentence['bleu']:6.2f}  {where} the lattice: {sentence['text']}"


def _commas(number: str) -> str:
    return f"{int(number):,}" if len(number) < 20 else f"{number[0]}.{number[1:3]}e{len(number) - 1}"
