"""`polyref expand`: give every example of a file pseudo-references."""

from __future__ import annotations

import textwrap
from typing import Annotated, Any

from polyref.cli import options as o
from polyref.data import BadSettings, ReadSettings, WriteReport, WriteSettings
from polyref.data.formats import FORMATS
from polyref.errors import SettingsError
from polyref.expansion import ExpandSettings
from polyref.judge import CAUSES_IN_WORDS
from polyref.scale import Job, ShardSettings, ToolSettings, collect_seldom, expand_file


@o.from_settings(
    settings=("tie_limit", "unseen_marks"), writing=("reference_columns", "pseudo_as_references", "line_breaks")
)
def expand(
    files: o.Inputs,
    *,
    output: Annotated[str, o.output("Output; its name tells the format.")] = "-",
    settings: ExpandSettings,
    preset: o.PresetOption = None,
    tools: ToolSettings,
    reading: ReadSettings,
    skipping: BadSettings,
    sharding: ShardSettings,
    writing: WriteSettings,
    as_json: o.JsonOption = False,
) -> None:
    """Add pseudo-references to every example of a file.

    The output is the input with "pseudo_references" and "lattice" added to each record. --judge content leaves out
    what says something twice, loses something or leaves brackets open; seams also what a language model finds
    ill-joined; bleu nothing.
    """  # fmt: skip
    job = Job(tuple(files), output, settings, reading, tools, writing.format, skipping.skip_bad, sharding)
    if settings.keep_lattice and not FORMATS[job.written_format].holds_pseudo:
        problem = f"has no effect on the format {job.written_format}, which cannot hold lattices"
        raise SettingsError(problem, "choose another format, or leave it out", key="keep_lattice")
    collect_seldom()
    stream = o.beside(output)
    report = WriteReport()
    with o.progress_bar(files[0], "expanding", "examples") as show:
        tally = expand_file(
            job,
            on_progress=lambda progress: show(progress.position, progress.examples),
            say=o.say,
            report=report,
        )
    if writing.format is None:
        o.say_usual_format(output, "JSON Lines", "--to")
    summary = tally.summary()
    losses = {"not_read": report.not_read.counts, "not_kept": report.not_kept.counts}
    o.summarise({**summary, **losses}, _for_a_person(summary, settings), as_json=as_json, stream=stream)
    if not as_json:
        o.say_losses(files[0], "not read", report.not_read)
        o.say_losses(output, "not kept", report.not_kept)


def _left_out(counts: dict[str, int]) -> str:
    return ", ".join(f"{counts[cause]:,} {words}" for cause, words in CAUSES_IN_WORDS.items() if cause in counts)


def _why_short(counts: dict[str, int], settings: ExpandSettings) -> list[tuple[str, str]]:
    """One row per reason, with what would give more sentences."""
    lowest = settings.search.min_bleu
    score = "a BLEU of 0" if lowest is None else f"a BLEU under {lowest:g}"
    causes = {
        "no_more": "no other sentence" + ("; try --align soft" if settings.align.align == "hard" else ""),
        "low_bleu": f"others have {score}; --min-bleu 0 keeps them",
        "left_out": "others are left out; --judge bleu keeps more",
        "cut_short": "there may be others, but the search was cut short",
    }
    return [("", f"{counts[cause]:,} of them: {words}") for cause, words in causes.items() if cause in counts]


def _for_a_person(summary: dict[str, Any], settings: ExpandSettings) -> str:
    """docs/command-line.md explains each line."""
    bleu = "-" if summary["mean_bleu_kept"] is None else f"{summary['mean_bleu_kept']:.2f}"
    seconds = ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in summary["seconds"].items())
    median, largest = (o.large(summary[f"sentences_{which}"]) for which in ("median", "largest"))
    rows = [
        ("examples", f"{summary['examples']:,}"),
        ("references", f"{summary['references_before']:,} before, {summary['references_after']:,} after"),
        (
            "fell short",
            f"{o.counted(summary['fell_short'], 'example')} with fewer than {settings.per_example:,} references",
        ),
        *_why_short(summary["fell_short_why"], settings),
        ("not exact", f"{o.counted(summary['not_exact'], 'example')} whose search was cut short"),
        *([("left out", _left_out(summary["left_out"]))] if summary["left_out"] else []),
        ("sentences", f"{median} per lattice (median), {largest} in the largest"),
        ("mean BLEU", f"{bleu} of pseudo-references"),
        ("seconds", seconds),
    ]
    return "".join([line + "\n" for name, value in rows for line in _wrapped(name, value)])


def _wrapped(name: str, value: str) -> list[str]:
    """A row of the summary, 80 columns wide."""
    return textwrap.wrap(value, 80, initial_indent=f"{name:<16}", subsequent_indent=" " * 16)
