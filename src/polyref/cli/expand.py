"""`polyref expand`: give every example of a file pseudo-references."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from polyref.cli import options as o
from polyref.cli.progress import progress_bar
from polyref.data import MAX_LINE_BYTES, Fields, WriteReport
from polyref.errors import SettingsError
from polyref.expand import ExpandSettings, Shortfall
from polyref.lattice import NODE_BUDGET, SearchSettings
from polyref.text import TextSettings


def expand(
    files: o.Inputs,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="Where to; the name tells format and compression.")
    ] = "-",
    per_example: Annotated[
        int, typer.Option("-k", "--per-example", metavar="N", help="References wanted in all, gold ones included.")
    ] = 20,
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
    merge_order: o.MergeOrderOption = "tree",
    tokenizer: o.TokenizerOption = "words",
    keep_case: o.KeepCase = False,
    shortfall: Annotated[
        Shortfall, typer.Option(help="Where a lattice has too few: keep what there is, repeat in turn, or fail.")
    ] = "keep",
    min_bleu: o.MinBleu = None,
    fluency: Annotated[
        float | None,
        typer.Option(
            "--fluency",
            metavar="MARGIN",
            help="Leave out sentences less fluent than the least fluent gold reference by more; try 0.",
        ),
    ] = None,
    language_model: Annotated[
        str | None,
        typer.Option(
            "--language-model",
            metavar="NAME",
            help="What judges fluency: english or a folder.  [default: the encoder if it can, else english]",
        ),
    ] = None,
    keep_lattice: Annotated[
        bool,
        typer.Option("--keep-lattice", help="Keep the lattices in the file: more is read off them later (--fresh)."),
    ] = False,
    cache: Annotated[
        str | None, typer.Option("--cache", metavar="FOLDER", help="Keep what a costly encoder found in this folder.")
    ] = None,
    seed: o.SeedOption = 0,
    node_budget: o.NodeBudget = NODE_BUDGET,
    workers: Annotated[
        int, typer.Option("-w", "--workers", metavar="N", help="Processes; the result does not depend on it.")
    ] = 1,
    engine: o.EngineOption = "auto",
    input_format: o.FromOption = None,
    output_format: o.ToOption = None,
    id_field: o.IdField = "id",
    source_field: o.SourceField = "source",
    references_field: o.ReferencesField = "references",
    max_line_bytes: o.MaxLineBytes = MAX_LINE_BYTES,
    as_json: o.JsonOption = False,
) -> None:
    """Add pseudo-references to every example of a file.

    The output is the input with "pseudo_references" and "lattice" added to each record.
    """  # fmt: skip
    from polyref.scale import Job, expand_file

    adaptive = {"start": start, "step": step, "floor": floor, "at_least": at_least}
    job = Job(
        input=tuple(files),
        output=output,
        settings=ExpandSettings(
            per_example=per_example,
            shortfall=shortfall,
            fluency=fluency,
            keep_lattice=keep_lattice,
            text=TextSettings(tokenizer, fold_case=not keep_case),
            align=o.align_settings(align, similarity, penalty, adaptive, merge_order, preset, veto, position, baseline),
            search=SearchSettings(seed, min_bleu, node_budget),
        ),
        fields=Fields(id_field, source_field, references_field),
        encoder=encoder,
        cache=cache,
        language_model=language_model,
        engine=engine,
        workers=workers,
        max_line_bytes=max_line_bytes,
        input_format=input_format,
        output_format=output_format,
    )
    if keep_lattice and job.written_format == "parallel":
        raise SettingsError("parallel text cannot hold lattices; choose another format, or leave --keep-lattice out")
    to_standard_output = o.is_standard_output(output)
    report = WriteReport()
    with progress_bar(files[0], "expanding", "examples") as show:
        tally = expand_file(
            job,
            on_progress=lambda progress: show(progress.position, progress.examples),
            before_compiling=o.say_compiling,
            report=report,
        )
    summary = tally.summary()
    # The summary goes where the examples do not.
    stream = sys.stderr if to_standard_output else sys.stdout
    losses = {"not_read": report.not_read.counts, "not_kept": report.not_kept.counts}
    stream.write(json.dumps({**summary, **losses}) + "\n" if as_json else _for_a_person(summary))
    if not as_json:
        o.say_losses(files[0], "not read", report.not_read)
        o.say_losses(output, "not kept", report.not_kept)


def _for_a_person(summary: dict[str, Any]) -> str:
    bleu = "-" if summary["mean_bleu_kept"] is None else f"{summary['mean_bleu_kept']:.2f}"
    seconds = ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in summary["seconds"].items())
    rows = [
        ("examples", f"{summary['examples']:,}"),
        ("references", f"{summary['references_before']:,} before, {summary['references_after']:,} after"),
        ("fell short", f"{summary['fell_short']:,}"),
        ("not exact", f"{summary['not_exact']:,}"),
        *([("not fluent", f"{summary['not_fluent']:,} left out")] if summary["not_fluent"] else []),
        ("sentences", f"{_large(summary['sentences_median'])} median, {_large(summary['sentences_largest'])} largest"),
        ("mean BLEU kept", bleu),
        ("seconds", seconds),
    ]
    return "".join(f"{name:<15} {value}\n" for name, value in rows)


def _large(number: str) -> str:
    """A whole number for a person: with commas, or as a power of ten where it is long."""
    if not number.replace(".", "").isdecimal():
        return number
    whole = number.partition(".")[0]
    return f"{float(number):,.10g}" if len(whole) <= 9 else f"{whole[0]}.{whole[1:3]}e{len(whole) - 1}"
