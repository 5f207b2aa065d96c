"""`polyref score`: BLEU, CIDEr and ROUGE-L of a system's hypotheses."""

from __future__ import annotations

from typing import Annotated

from polyref.cli import options as o
from polyref.data import Losses, ReadSettings
from polyref.data.hypotheses import read_hypotheses, read_references
from polyref.errors import SettingsError
from polyref.score import METRICS, USUAL, CorpusBleu, Scored, Tokenizer, evaluate, metrics_of
from polyref.score.pairing import paired
from polyref.settings import setting, settings

_HYPOTHESES = '{"id": ..., "hypothesis": ...} or plain text, one per line; or COCO results. - reads standard input.'
_REFERENCES = "A data set in any format, or files of plain text, one reference per line."


@settings
class ScoreSettings:
    """What is scored, and how."""

    metrics: str = setting(",".join(USUAL), "Scores, with commas between them; cider-d is cider.", metavar="NAMES")
    tokenizer: Tokenizer | None = setting(
        None, "Tokens that are counted.", unset="13a for BLEU, ptb for CIDEr and ROUGE-L"
    )
    fold_case: bool = setting(False, "Score without case (ptb always does).")
    allow_empty: bool = setting(False, "Score an empty hypothesis as one without words; else it is refused.")
    hypothesis_field: str = setting("hypothesis", "Key of a hypothesis.", metavar="KEY")


@o.from_settings(reading=("source_field",))
def score(
    hypotheses: Annotated[str, o.argument("HYPOTHESES", _HYPOTHESES)],
    references: Annotated[list[str], o.argument("REFERENCES", _REFERENCES)],
    *,
    scoring: ScoreSettings,
    reading: ReadSettings,
    as_json: o.JsonOption = False,
) -> None:
    """Score hypotheses against any number of references each.

    A hypothesis belongs to the example with its id, or without ids to the one at its place. In several files of plain
    text, line k of each is a reference of example k, blank where there are fewer.
    """  # fmt: skip
    chosen = metrics_of(scoring.metrics.replace(",", " ").split())
    if [hypotheses, *references].count("-") > 1:
        raise SettingsError("standard input can be read once", "name a file for the other")
    losses = Losses()
    written = read_hypotheses(hypotheses, reading, scoring.hypothesis_field, allow_empty=scoring.allow_empty)
    gold = read_references(references, reading, losses)
    texts, tokens, folds, empty = paired(written, gold), scoring.tokenizer, scoring.fold_case, scoring.allow_empty
    found = evaluate(texts, gold.texts, metrics=chosen, tokenizer=tokens, fold_case=folds, allow_empty=empty)
    counts = [len(texts) for texts in gold.texts]
    o.tell(_for_a_machine(found, counts) if as_json else _for_a_person(found, counts))
    if not as_json:
        o.say_losses(gold.name, "not read", losses)
        if "cider" in found and len(counts) == 1:
            o.say("CIDEr of one example is always 0; its weights come from the other examples")


def _for_a_machine(found: dict[str, Scored], counts: list[int]) -> str:
    scores = {
        name: {"score": one.score, "scale": METRICS[name].scale, "signature": one.signature, **one.details()}
        for name, one in found.items()
    }
    return o.one_object({"examples": len(counts), "references": sum(counts), "scores": scores})


def _for_a_person(found: dict[str, Scored], counts: list[int]) -> str:
    rows = [("", "score", "scale", "signature")]
    for name, scored in found.items():
        metric = METRICS[name]
        rows.append((metric.title, f"{scored.score:.{metric.digits}f}", metric.scale, scored.signature))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        f"{name:<{widths[0]}}  {number:>{widths[1]}}  {scale:<{widths[2]}}  {text}"
        for name, number, scale, text in rows
    ]
    each = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    heading = f"{len(counts):,} hypotheses, {sum(counts):,} references ({each} each)"
    if isinstance(bleu := found.get("bleu"), CorpusBleu):
        lines.append(f"BLEU-1 to BLEU-{len(bleu.orders)}: {', '.join(f'{one:.2f}' for one in bleu.orders)}")
    return "\n".join([heading, *lines]) + "\n"
