"""What judging costs: the whole of expand under each judge, beside BLEU alone.

In:   captions, and long examples. Out: times per example. Not: how good the judges are (choosing/).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.clock import one_core, seconds_in_turn
from benchmarks.data import Data
from benchmarks.table import Table, shown_time, yes
from polyref import Example, ExpandSettings, expand, render
from polyref.judge import JudgeSettings
from polyref.lattice import CompiledEngine

PER_EXAMPLE = 20
ROUNDS = 5
MOST = 1.5  # times BLEU alone


def measure(data: Data, quick: bool) -> Table:
    engine, rounds = CompiledEngine(), 3 if quick else ROUNDS
    rows = []
    sets = {data.captions_name: data.captions, data.long_name: data.long}
    sizes = {name: min(len(examples), 1000 if quick else 5000) for name, examples in sets.items()}
    for name, examples in sets.items():
        some = examples[: sizes[name]]
        ways = {judge: _run(some, judge, engine) for judge in ("bleu", "content")}
        with one_core():
            taken = seconds_in_turn(ways, rounds)
        alone, judged = (taken[judge] / len(some) for judge in ways)
        rows.append([f"{name}, bleu", shown_time(alone), "1 x", "-", "-"])
        ratio = judged / alone
        rows.append(
            [f"{name}, content", shown_time(judged), f"{ratio:.2f} x", f"at most {MOST:g} x", yes(ratio <= MOST)]
        )
    remarks = [
        f"{' and '.join(f'{size:,} examples of {name}' for name, size in sizes.items())}, hard alignment, "
        f"K' = {PER_EXAMPLE}: from an Example to a line of JSON, everything included, also the first thousand "
        f"examples that content reads ahead. The two took turns; median of {rounds} rounds.",
        "No language model is asked by either.",
    ]
    return Table("Judging", ["", "time for an example", "times BLEU alone", "target", "reached"], rows, remarks)


def _run(examples: Sequence[Example], judge: str, engine: CompiledEngine) -> Callable[[], None]:
    settings = ExpandSettings(PER_EXAMPLE, judging=JudgeSettings(judge))  # type: ignore[arg-type]

    def run() -> None:
        for one in expand(examples, settings=settings, engine=engine):
            render(one)

    return run
