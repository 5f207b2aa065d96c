"""`polyref expand`: give every example of a file pseudo-references."""

from __future__ import annotations

from typing import Annotated, Any

from polyref.cli import options as o
from polyref.data import BadSettings, ReadSettings, WriteReport, WriteSettings
from polyref.data.formats import FORMATS
from polyref.errors import SettingsError
from polyref.expansion import ExpandSettings
from polyref.scale import Job, ToolSettings, expand_file


@o.from_settings(
    settings=("tie_limit", "unseen_marks"), writing=("reference_columns", "pseudo_as_references", "line_breaks")
)
def expand(
    files: o.Inputs,
    *,
    output: Annotated[str, o.output("Output; its name tells format and compression.")] = "-",
    settings: ExpandSettings,
    preset: o.PresetOption = None,
    tools: ToolSettings,
    reading: ReadSettings,
    skipping: BadSettings,
    writing: WriteSettings,
    as_json: o.JsonOption = False,
) -> None:
    """Add pseudo-references to every example of a file.

    The output is the input with "pseudo_references" and "lattice" added to each record.
    """  # fmt: skip
    job = Job(tuple(files), output, settings, reading, tools, writing.format, skipping.skip_bad)
    if settings.keep_lattice and not FORMATS[job.written_format].holds_pseudo:
        problem = f"has no effect on the format {job.written_format}, which cannot hold lattices"
        raise SettingsError(problem, "choose another format, or leave it out", key="keep_lattice")
    stream = o.beside(output)
    report = WriteReport()
    with o.progress_bar(files[0], "expanding", "examples") as show:
        tally = expand_file(
            job,
            on_progress=lambda progress: show(progress.position, progress.examples),
            say=o.say,
            report=report,
        )
    summary = tally.summary()
    losses = {"not_read": report.not_read.counts, "not_kept": report.not_kept.counts}
    stream.write(o.one_object({**summary, **losses}) if as_json else _for_a_person(summary))
    if not as_json:
        o.say_losses(files[0], "not read", report.not_read)
        o.say_losses(output, "not kept", report.not_kept)


# What rules leave out are beginnings of sentences: however a sentence goes on, it cannot pass any more.
_CAUSES = {
    "twice": "say something twice",
    "lost": "lose something",
    "marks": "leave marks open",
    "same": "are not new",
    "fluency": "are not fluent",
    "seams": "are ill-joined",
}


def _left_out(counts: dict[str, int]) -> str:
    return ", ".join(f"{counts[cause]:,} {words}" for cause, words in _CAUSES.items() if cause in counts)


def _for_a_person(summary: dict[str, Any]) -> str:
    bleu = "-" if summary["mean_bleu_kept"] is None else f"{summary['mean_bleu_kept']:.2f}"
    seconds = ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in summary["seconds"].items())
    median, largest = (o.large(summary[f"sentences_{which}"]) for which in ("median", "largest"))
    rows = [
        ("examples", f"{summary['examples']:,}"),
        ("references", f"{summary['references_before']:,} before, {summary['references_after']:,} after"),
        ("fell short", f"{summary['fell_short']:,}"),
        ("not exact", f"{summary['not_exact']:,}"),
        *([("left out", _left_out(summary["left_out"]))] if summary["left_out"] else []),
        ("sentences", f"{median} median, {largest} largest"),
        ("mean BLEU kept", bleu),
        ("seconds", seconds),
    ]
    return "".join(f"{name:<15} {value}\n" for name, value in rows)
