"""`polyref score`: BLEU, CIDEr and ROUGE-L of a system's hypotheses; whether systems differ by more than chance."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from polyref.cli import options as o
from polyref.data import Losses, ReadSettings, open_output
from polyref.data.formats.jsonl import record_line
from polyref.data.hypotheses import Hypotheses, References, read_hypotheses, read_references
from polyref.data.opening import check_output_is_none_of, display_name
from polyref.errors import InputError, SettingsError
from polyref.remote import is_remote, path_at
from polyref.score import METRICS, USUAL, BleuScale, CorpusBleu, Matches, Scored, Tokenizer, evaluate, metrics_of
from polyref.score.diversity import diversity
from polyref.score.facts import LITERAL, facts, missing_of, slots_of
from polyref.score.pairing import paired
from polyref.score.significance import Statistics, compare, interval, smallest_p
from polyref.settings import setting, settings

_HYPOTHESES = "Records, lines of text, or COCO results; one run or several."
_REFERENCES = "A data set in any format, or files of lines of text."
_AGAINST = "Compare with this system; may be given again."

Report = dict[str, Any]  # what --json prints, and the tables show


@settings(group="Scores")
class ScoreSettings:
    """What is scored, and how."""

    metrics: str = setting(",".join(USUAL), "Scores, with commas.", metavar="NAMES")
    tokenizer: Tokenizer | None = setting(None, "Tokens counted.", unset="13a; ptb for CIDEr, ROUGE-L")
    fold_case: bool = setting(False, "Score without case (ptb always does).")
    allow_empty: bool = setting(False, "Score empty hypotheses; else they are refused.")
    hypothesis_field: str = setting("hypothesis", "Key of a hypothesis.", metavar="KEY")
    confidence: bool = setting(False, "Show 95 % intervals, by bootstrap.")
    diversity: bool = setting(False, "Show distinct outputs, n-grams and self-BLEU.")
    training: str | None = setting(None, "With --diversity: share not in this data set.", metavar="FILE")
    facts: bool = setting(False, "Count outputs without the value of a slot.")
    per_example: str | None = setting(None, "Write the scores of every example here.", metavar="FILE")

    def check_together(self) -> None:
        if self.training is not None and not self.diversity:
            raise SettingsError("has no effect without --diversity", "add that, or leave it out", key="training")


@dataclass(frozen=True, slots=True)
class _System:
    """The runs of a system: the texts of each in the order of the examples, and its scores."""

    name: str
    files: list[str]
    texts: list[list[str]]
    found: list[dict[str, Scored]]

    def statistics(self, metric: str) -> list[Statistics]:
        return [Statistics.of(metric, scores[metric]) for scores in self.found]


@o.from_settings()
def score(
    hypotheses: Annotated[str, o.argument("HYPOTHESES", _HYPOTHESES)],
    references: Annotated[list[str], o.argument("REFERENCES", _REFERENCES)],
    *,
    against: Annotated[list[str] | None, o.option("FILES", _AGAINST)] = None,
    scoring: ScoreSettings,
    reading: ReadSettings,
    as_json: o.JsonOption = False,
) -> None:
    """Score hypotheses, and compare systems.

    There may be any number of references for each. A record is {"id": ..., "hypothesis": ...}. A hypothesis belongs to
    the example with its id, or without ids to the one at its place. In several files of plain text, line k of each is a
    reference of example k, blank where there are fewer. Several runs of a system are files with commas between them, or
    a pattern in quotes, 'out-*.jsonl'.
    """  # fmt: skip
    chosen = metrics_of(scoring.metrics.replace(",", " ").split())
    given = [_runs(text) for text in (hypotheses, *(against or ()))]
    _check_files([*references, *chain.from_iterable(given)], scoring)
    losses = Losses()
    field, empty = scoring.hypothesis_field, scoring.allow_empty
    written = [[read_hypotheses(path, reading, field, allow_empty=empty) for path in files] for files in given]
    gold = read_references(references, reading, losses)
    if scoring.facts:
        _check_sources(gold)
    systems = [_system(*both, gold, chosen, scoring) for both in zip(_names(given), written, strict=True)]
    report = _report(systems, gold, scoring, reading)
    if scoring.per_example is not None:
        _write_examples(scoring.per_example, systems, gold, written[0][0].ids, report.get("facts", {}))
    o.tell(o.one_object(report) if as_json else _for_a_person(report, systems, gold))
    if not as_json:
        o.say_losses(gold.name, "not read", losses)
        if "cider" in chosen and len(gold.texts) == 1:
            o.say("CIDEr of one example is always 0; its weights come from the other examples")


# -- files ------------------------------------------------------------------------------------------------------------


def _runs(given: str) -> list[str]:
    """The files of a system: one, several with commas between them, or those that a pattern matches."""
    if given == "-" or path_at(given).exists():
        return [given]
    found = [path for part in given.split(",") if part.strip() for path in _matching(part.strip())]
    if len({os.path.realpath(path) for path in found}) < len(found):
        raise SettingsError(f"{given}: a file is there twice", "give each run once")
    return found or [given]


def _matching(path: str) -> list[str]:
    """The files that a pattern matches; a path that is none, as it is."""
    pattern = Path(path)
    if is_remote(path) or pattern.exists() or not any(letter in path for letter in "*?["):
        return [path]
    try:
        found = sorted(map(str, Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor)))))
    except ValueError as error:
        raise InputError(f"this is not a pattern ({error})", "use *, ? and [...]", file=path) from None
    if not found:
        raise InputError("no file matches this pattern", "check the path", file=path)
    return found


def _names(given: Sequence[list[str]]) -> list[str]:
    """How tables name the systems: by their first file."""
    short = o.short_names([display_name(files[0]) for files in given])
    more = [f" +{len(files) - 1}" if len(files) > 1 else "" for files in given]
    return [name + rest for name, rest in zip(short, more, strict=True)]


def _check_files(read: Sequence[str], scoring: ScoreSettings) -> None:
    """Refuse what cannot be read or written, before anything is read."""
    all_read = [*read, *([scoring.training] if scoring.training else [])]
    if all_read.count("-") > 1:
        raise SettingsError("standard input can be read once", "name a file for the other")
    output = scoring.per_example
    if output is not None:
        if o.is_standard_output(output):
            raise SettingsError("is standard output, where the scores go", "name a file", key="per_example")
        for path in all_read:
            check_output_is_none_of(output, {"an input file": path})


def _check_sources(gold: References) -> None:
    if gold.sources is None:
        cure = "give a data set whose sources have slots, or leave --facts out"
        raise InputError("there are no sources", cure, file=gold.name)
    for id, source in zip(gold.ids or (), gold.sources, strict=True):
        try:
            slots_of(source)
        except InputError as error:
            raise InputError(f'example "{id}": {error.problem}', error.cure, file=gold.name) from None


def _system(
    name: str, written: Sequence[Hypotheses], gold: References, chosen: tuple[str, ...], scoring: ScoreSettings
) -> _System:
    texts = [paired(one, gold) for one in written]
    tokens, folds, empty = scoring.tokenizer, scoring.fold_case, scoring.allow_empty
    found = [
        evaluate(one, gold.texts, metrics=chosen, tokenizer=tokens, fold_case=folds, allow_empty=empty) for one in texts
    ]
    return _System(name, [one.name for one in written], texts, found)


def _write_examples(
    path: str, systems: Sequence[_System], gold: References, ids: list[str] | None, slots: Report
) -> None:
    """One record per example and file; with its slots that count and are missing, if there are any."""
    counted = {slot for slot, found in slots.items() if found["missing"] is not None}
    names: Sequence[Any] = gold.ids or ids or range(1, len(gold.texts) + 1)
    with open_output(path) as stream:
        for system in systems:
            for file, texts, found in zip(system.files, system.texts, system.found, strict=True):
                scores = {metric: _example_scores(metric, scored) for metric, scored in found.items()}
                for place, (id, text) in enumerate(zip(names, texts, strict=True)):
                    record = {"id": id, "file": file} | {metric: values[place] for metric, values in scores.items()}
                    if slots and gold.sources is not None:
                        missing = missing_of(gold.sources[place], text)
                        record["missing"] = [slot for slot in missing if slot in counted]
                    stream.write(record_line(record) + b"\n")


def _example_scores(metric: str, scored: Scored) -> list[float]:
    """The score of each example; of BLEU the sentence's, without smoothing."""
    if not isinstance(scored, CorpusBleu):
        return [float(value) for value in Statistics.of(metric, scored).rows[:, 0]]
    rows = scored.counts.tolist()
    return [BleuScale([row[1]]).score(Matches(row[0], (row[2], row[3], row[4], row[5]))) for row in rows]


# -- the report -------------------------------------------------------------------------------------------------------


def _report(systems: Sequence[_System], gold: References, scoring: ScoreSettings, reading: ReadSettings) -> Report:
    training = None
    if scoring.training is not None:
        # --from is the format of the references.
        found = read_references([scoring.training], replace(reading, format=None), Losses())
        training = list(chain.from_iterable(found.texts))
    summaries = [_summary(system, gold, training, scoring) for system in systems]
    ours, *others = systems
    for other, summary in zip(others, summaries[1:], strict=True):
        for metric, scores in summary["scores"].items():
            scores |= asdict(compare(ours.statistics(metric), other.statistics(metric)))
    counts = {"examples": len(gold.texts), "references": sum(map(len, gold.texts))}
    return counts | summaries[0] | ({"against": summaries[1:]} if others else {})


def _summary(system: _System, gold: References, training: list[str] | None, scoring: ScoreSettings) -> Report:
    """All numbers of one system; of several runs, their means."""
    scores: Report = {}
    for name in system.found[0]:
        runs = [found[name] for found in system.found]
        mean = _mean([{"score": one.score} | one.details() for one in runs])
        scores[name] = {"score": mean.pop("score"), "scale": METRICS[name].scale, "signature": runs[0].signature} | mean
        if len(runs) > 1:
            scores[name]["runs"] = [one.score for one in runs]
        if scoring.confidence:
            scores[name]["interval"] = interval(system.statistics(name))
    summary: Report = {"files": system.files, "scores": scores}
    if scoring.diversity:
        tokens, folds = scoring.tokenizer or "ptb", scoring.fold_case
        found = [diversity(one, training=training, tokenizer_name=tokens, fold_case=folds) for one in system.texts]
        summary["diversity"] = _mean([asdict(one) for one in found])
    if scoring.facts and gold.sources is not None:
        of_runs = [facts(gold.sources, texts, gold.texts) for texts in system.texts]
        summary["facts"] = {slot: _mean([asdict(run[slot]) for run in of_runs]) for slot in of_runs[0]}
    return summary


def _mean(runs: Sequence[Mapping[str, Any]]) -> Report:
    """The mean of each number, and of each place of a list of numbers. One run is as it is."""
    if len(runs) == 1:
        return dict(runs[0])

    def mean(values: Sequence[Any]) -> Any:
        if isinstance(values[0], tuple):
            return tuple(map(mean, zip(*values, strict=True)))
        there = [value for value in values if value is not None]
        return float(np.mean(there)) if there else None

    return {key: mean([run[key] for run in runs]) for key in runs[0]}


# -- what a person reads ----------------------------------------------------------------------------------------------


def _for_a_person(report: Report, systems: Sequence[_System], gold: References) -> str:
    counts, runs = [len(texts) for texts in gold.texts], len(systems[0].files)
    each = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    heading = f"{f'{runs} runs of ' if runs > 1 else ''}{len(counts):,} hypotheses, "
    lines = [f"{heading}{sum(counts):,} references ({each} each)", *_scores_table(report["scores"])]
    if "bleu" in report["scores"]:
        orders = report["scores"]["bleu"]["orders"]
        lines.append(f"BLEU-1 to BLEU-{len(orders)}: {', '.join(f'{one:.2f}' for one in orders)}")
    summaries = [report, *report.get("against", ())]
    for other, summary in zip(systems[1:], summaries[1:], strict=True):
        lines += ["", f"against {other.name}", *_comparison_table(summary["scores"])]
        lines += _remarks(runs, len(other.files))
    names = [system.name for system in systems]
    if "diversity" in report:
        lines += ["", *_diversity_table([one["diversity"] for one in summaries], names)]
    if "facts" in report:
        lines += ["", *_facts_table([one["facts"] for one in summaries], names)]
    return "\n".join(lines) + "\n"


def _scores_table(scores: Report) -> list[str]:
    some = next(iter(scores.values()))
    columns = ["", "score", *(["runs"] if "runs" in some else []), *(["95 % interval"] if "interval" in some else [])]
    rows = [[*columns, "scale", "signature"]]
    for name, found in scores.items():
        metric = METRICS[name]
        row = [metric.title, f"{found['score']:.{metric.digits}f}"]
        ends = [sorted(found["runs"])] if "runs" in found else []
        ends += [found["interval"]] if "interval" in found else []
        row += [f"{low:.{metric.digits}f} to {high:.{metric.digits}f}" for low, *_, high in ends]
        rows.append([*row, metric.scale, found["signature"]])
    return o.aligned(rows, left=(0, len(columns), len(columns) + 1))


def _comparison_table(scores: Report) -> list[str]:
    rows = [["", "its score", "difference", "95 % interval", "p, bootstrap", "p, randomised"]]
    for name, found in scores.items():
        metric, digits = METRICS[name].title, METRICS[name].digits
        row = [metric, f"{found['score']:.{digits}f}", f"{found['difference']:+.{digits}f}"]
        row.append(f"{found['low']:+.{digits}f} to {found['high']:+.{digits}f}")
        rows.append([*row, f"{found['p_bootstrap']:.3f}", f"{found['p_randomisation']:.3f}"])
    return o.aligned(rows)


def _remarks(ours: int, theirs: int) -> list[str]:
    if ours == theirs == 1:
        return ["One run each: whether other seeds would differ is not tested."]
    least = smallest_p(ours, theirs)
    return [f"With so few runs, p of randomisation is never below {least:.2f}."] if least > 0.05 else []


def _diversity_table(found: Sequence[Report], names: Sequence[str]) -> list[str]:
    rows = [["diversity", *names], ["distinct outputs", *(_count(one["distinct_outputs"]) for one in found)]]
    for order, values in enumerate(zip(*(one["distinct"] for one in found), strict=True), 1):
        rows += [[f"distinct-{order}", *(_number(value, 4) for value in values)]]
    rows.append(["self-BLEU", *(_number(one["self_bleu"], 2) for one in found)])
    if found[0]["new"] is not None:
        rows.append(["new, not in training", *(f"{one['new']:.1%}" for one in found)])
    return o.aligned(rows)


def _facts_table(found: Sequence[Report], names: Sequence[str]) -> list[str]:
    rows = [["outputs without", "of", *names, "references"]]
    left_out = []
    for slot, first in found[0].items():
        if first["missing"] is None:
            left_out.append(f"{slot} ({first['in_references']:.0%})")
            continue
        missing = [_count(one[slot]["missing"]) for one in found]
        rows.append([slot, _count(first["given"]), *missing, f"{1 - first['in_references']:.1%}"])
    lines = o.aligned(rows) if len(rows) > 1 else ["outputs without a fact: no slot counts"]
    if left_out:
        why = f"under {LITERAL:.0%} of references have the words of the value"
        lines += textwrap.wrap(f"not counted, because {why}: {', '.join(left_out)}", 80)
    return [o.printable(line) for line in lines]


def _count(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
