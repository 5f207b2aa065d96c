"""Options that several verbs share, and the settings that they make.

In:   values from the command line. Out: the rooms' settings. Not: the verbs.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from polyref.align import VETO_KINDS, AdaptivePenalty, AlignSettings, MergeOrder, Similarity, VetoKind
from polyref.align.settings import Alignment
from polyref.data import Format, Losses
from polyref.data.sources import SourceFormat
from polyref.errors import SettingsError
from polyref.lattice import EngineName
from polyref.text.tokens import Tokenizer

Preset = Literal["paper"]
PAPER_PENALTY = 0.6
ThemeName = Literal["light", "dark", "auto"]  # as the drawings have it; not taken from there, so that help starts fast

Input = Annotated[str, typer.Argument(metavar="FILE", help="Examples, in any of the formats; - reads standard input.")]
Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Examples: JSON Lines, Parquet, COCO, Karpathy, CSV, TSV or parallel text; - reads standard input.",
    ),
]
FromOption = Annotated[
    Format | None, typer.Option("--from", help="The format that is read.  [default: told by the content]")
]
SourcesFromOption = Annotated[
    SourceFormat | None, typer.Option("--from", help="The format that is read.  [default: told by the content]")
]
ToOption = Annotated[
    Format | None, typer.Option("--to", help="The format that is written.  [default: told by the name]")
]
Id = Annotated[str | None, typer.Option("--id", metavar="ID", help="Only the example with this id.")]
IdField = Annotated[str, typer.Option(metavar="KEY", help="The key of an example's id (optional in the file).")]
SourceField = Annotated[str, typer.Option(metavar="KEY", help="The key of the source.")]
ReferencesField = Annotated[str, typer.Option(metavar="KEY", help="The key of the list of references.")]
MaxLineBytes = Annotated[int, typer.Option(metavar="N", help="The longest line that is read.")]
AlignOption = Annotated[
    Alignment, typer.Option("--align", help="hard: equal words are linked. soft: words whose vectors are alike.")
]
EncoderOption = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        metavar="NAME",
        help="Soft alignment's vectors: english, a folder of your own, vectors:FILE (npz, GloVe or fastText text) or "
        "huggingface:NAME.  [default: english]",
    ),
]
SimilarityOption = Annotated[
    Similarity | None,
    typer.Option(
        "--similarity", help="cosine as it is, or rescaled by what unrelated words share.  [default: rescaled]"
    ),
]
PenaltyOption = Annotated[
    str | None,
    typer.Option(
        "--penalty",
        metavar="P",
        help=f"What a soft link must beat, 0 to 1, or adaptive.  [default: {AlignSettings().penalty:g}]",
    ),
]
VetoOption = Annotated[
    str | None,
    typer.Option(
        "--veto",
        metavar="KINDS",
        help=f"Words that soft alignment never links: {','.join(VETO_KINDS)}, or none. Hard alignment does not "
        "depend on it.  [default: all; with --preset paper none]",
    ),
]
PositionOption = Annotated[
    float | None,
    typer.Option(
        "--position",
        metavar="W",
        help="What a soft link loses from one end of a reference to the other, 0 to 1. Hard alignment does not "
        f"depend on it.  [default: {AlignSettings().position:g}; with --preset paper 0]",
    ),
]
BaselineOption = Annotated[
    float | None,
    typer.Option(
        "--baseline",
        metavar="B",
        help="What unrelated words share.  [default: as the encoder says; see encoder calibrate]",
    ),
]
StartOption = Annotated[
    float | None, typer.Option("--start", help="Adaptive penalty: where it starts.  [default: 0.9]")
]
StepOption = Annotated[float | None, typer.Option("--step", help="Adaptive penalty: its steps.  [default: 0.05]")]
FloorOption = Annotated[float | None, typer.Option("--floor", help="Adaptive penalty: where it ends.  [default: 0.3]")]
AtLeastOption = Annotated[
    int | None,
    typer.Option("--at-least", metavar="N", help="Adaptive penalty: sentences that are enough.  [default: 100]"),
]
MergeOrderOption = Annotated[
    MergeOrder, typer.Option("--merge-order", help="tree: join all references. paper: the paper read literally.")
]
TokenizerOption = Annotated[
    Tokenizer,
    typer.Option(
        "--tokenizer",
        help="words: punctuation apart. characters: Chinese, Japanese, Thai by the character. whitespace.",
    ),
]
KeepCase = Annotated[bool, typer.Option("--keep-case", help="Tell capitals from small letters.")]
PresetOption = Annotated[
    Preset | None,
    typer.Option("--preset", help="paper: raw cosine, no veto, no position, and the paper's penalty 0.6 or adaptive."),
]
SeedOption = Annotated[int, typer.Option("--seed", help="Decides among sentences with equal scores.")]
MinBleu = Annotated[
    float | None,
    typer.Option("--min-bleu", metavar="B", help="Keep sentences from this BLEU on; 0 admits those that score 0."),
]
NodeBudget = Annotated[
    int, typer.Option("--node-budget", metavar="N", help="Search nodes an example before it settles.")
]
EngineOption = Annotated[
    EngineName, typer.Option("--engine", help="Plain Python or compiled kernels; the results are the same.")
]
ThemeOption = Annotated[
    ThemeName, typer.Option("--theme", help="Of a drawing: light, dark, or what the reader's system is set to.")
]
TitleOption = Annotated[str | None, typer.Option("--title", metavar="TEXT", help="A title over a drawing.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one machine-readable object.")]


def say_compiling() -> None:
    """Tell a person why nothing happens for a while."""
    sys.stderr.write("polyref: compiling the kernels, once on this machine (about a minute)\n")
    sys.stderr.flush()


def say_losses(name: str, verb: str, losses: Losses) -> None:
    """Tell a person what a format cannot hold."""
    if losses:
        sys.stderr.write(f"polyref: {printable(f'{name}: {verb}: {losses}')}\n")


def printable(text: str) -> str:
    """One line, whatever a text quotes."""
    return "".join([character if character.isprintable() else " " for character in text])


def is_standard_output(path: str) -> bool:
    """Whether a path names what standard output goes to, as /dev/stdout does."""
    try:
        return path == "-" or os.path.samestat(Path(path).stat(), os.fstat(1))
    except (OSError, ValueError):
        return False


def align_settings(
    align: Alignment,
    similarity: Similarity | None,
    penalty: str | None,
    adaptive: dict[str, Any],
    merge_order: MergeOrder,
    preset: Preset | None,
    veto: str | None,
    position: float | None,
    baseline: float | None,
) -> AlignSettings:
    """The alignment that the options ask for. `adaptive`: start, step, floor and at_least, None where not given."""
    usual = AlignSettings()
    if preset == "paper":
        usual = AlignSettings(similarity="cosine", penalty=PAPER_PENALTY, veto=(), position=0.0)
    given = {name: value for name, value in adaptive.items() if value is not None}
    chosen: float | AdaptivePenalty
    if penalty == "adaptive":
        chosen = AdaptivePenalty(**given)
    elif given:
        option = next(iter(given)).replace("_", "-")
        raise SettingsError(f"--{option} belongs to the adaptive penalty; add --penalty adaptive")
    else:
        try:
            chosen = float(penalty) if penalty is not None else usual.penalty
        except ValueError:
            raise SettingsError(f'the penalty is "{penalty}"; give a number from 0 to 1, or adaptive') from None
    settings = AlignSettings(
        align,
        usual.similarity if similarity is None else similarity,
        chosen,
        merge_order,
        usual.veto if veto is None else _kinds(veto),
        usual.position if position is None else position,
        baseline,
    )
    soft = {"similarity": similarity, "penalty": penalty, "veto": veto, "position": position, "baseline": baseline}
    if align == "hard" and (idle := [name for name, value in soft.items() if value is not None]):
        raise SettingsError(f"--{idle[0]} belongs to soft alignment; add --align soft")
    return settings


def _kinds(listed: str) -> list[VetoKind]:
    """The kinds of veto in a list with commas; unknown ones are refused where the settings are made."""
    kinds = listed.replace(",", " ").split()
    if kinds == ["none"]:
        return []
    if not kinds or "none" in kinds:
        raise SettingsError(f'the veto is "{listed}"; give kinds with commas between them, or none alone')
    return cast("list[VetoKind]", kinds)
