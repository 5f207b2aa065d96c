"""The tables of the paper, from records.

In:   the records of a grid.
Out:  tables: data (Table 1), validation (Tables 2 and 4), test (Tables 3 and 5), comparisons of cells, and what
      expansion gave.
Not:  how a table is written (forms.py), figures (figures.py), the case study (case.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import groupby
from statistics import fmean, stdev
from typing import Any

from polyref.experiment.layout import cell_name
from polyref.experiment.record import Record
from polyref.report.forms import Cell, Table
from polyref.report.records import LOWER_IS_BETTER, Group, Records, score_of, shown
from polyref.score import METRICS
from polyref.score.significance import Statistics, compare
from polyref.settings import counted

_DIGITS = 3  # at most: seeds differ by more
STAR = "*"  # of the baseline
Place = tuple[str | None, ...]


def tables_of(records: Records) -> list[Table]:
    """All tables that the records have something for."""
    made = (data_table, expansions_table, validation_table, test_table, outputs_table, comparisons_table)
    return [table for make in made if (table := make(records)) is not None]


def title_of(metric: str) -> str:
    return METRICS[metric].title if metric in METRICS else capital(metric)


def digits_of(metric: str) -> int:
    return min(METRICS[metric].digits, _DIGITS) if metric in METRICS else 2


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# -- data and expansion ---------------------------------------------------------------------------------------------


def data_table(records: Records) -> Table | None:
    """How many examples each part has, and how many references they have."""
    if not records.data:
        return None
    rows: list[tuple[str, list[str]]] = [
        ("Examples", [f"{part.examples:,}" for part in records.data]),
        ("References", [f"{part.references:,}" for part in records.data]),
        ("References per example", []),
    ]
    for part in records.data:
        spread = f"{part.least}" if part.least == part.most else f"{part.least} to {part.most}"
        is_same = part.least == part.most or not part.examples
        rows[2][1].append(spread if is_same else f"{spread} (mean {part.references / part.examples:.2f})")
    return Table(
        "data",
        "Examples and references of each part of the data.",
        [[Cell(""), *(Cell(capital(part.part)) for part in records.data)]],
        [[Cell(label), *map(Cell, texts)] for label, texts in rows],
        1,
        [asdict(part) for part in records.data],
    )


def expansions_table(records: Records) -> Table | None:
    """How many examples have fewer references than wanted, and how large lattices are."""
    if not records.expansions:
        return None
    axes = [axis for axis in records.axes if len({one.shown(axis) for one in records.expansions}) > 1]
    axes = axes or [axis for axis in records.axes if any(len(one.values[axis]) == 1 for one in records.expansions)]
    rows, numbers = [], []
    for one in records.expansions:
        examples = sum(one.possible.values())
        middle = _median_power(one.possible)
        share = f" ({one.short / examples:.1%})" if examples else ""
        size = "" if middle is None else "1" if middle == 0 else f"{2**middle:,} to {2 ** (middle + 1) - 1:,}"
        texts = [*map(one.shown, axes), f"{one.per_example:,}", f"{one.short:,}{share}", size]
        rows.append([Cell(text) for text in texts])
        numbers.append(
            {axis: one.shown(axis) or None for axis in axes}
            | {"per_example": one.per_example, "short": one.short, "examples": examples}
            | {"median_at_least": None if middle is None else 2**middle}
        )
    titles = [*map(capital, axes), "References wanted", "Examples with fewer", "Sentences in a lattice, median"]
    title = "Expansion: wanted references per example (gold and pseudo), and examples whose lattice gives fewer."
    return Table("expansions", title, [[Cell(title) for title in titles]], rows, len(axes), numbers)


def _median_power(possible: Mapping[int, int]) -> int | None:
    behind, total = 0, sum(possible.values())
    for power, count in possible.items():
        behind += count
        if count and 2 * behind >= total:
            return power
    return None


# -- validation -----------------------------------------------------------------------------------------------------


def validation_table(records: Records) -> Table | None:
    """All cells of the grid. A cell that lacks a column's axis stands in all columns that it may belong to."""
    columns = _columns(records)
    if len(columns) == 1:  # one column needs no title: what it has in common stands in the rows
        records = replace(records, rows=(*records.rows, *records.columns), columns=())
        columns = [()]
    rows = list(_placed(records, columns))
    picked = [axis for axis in records.pick if any(axis in group.picked for group in records.groups)]
    parts: list[tuple[str, Callable[[Group], str]]] = [
        *(
            (title_of(name), lambda group, name=name: _score(records, group.runs, _best(name), name))
            for name in records.metrics
        ),
        ("Updates", lambda group: _updates(group.runs)),
        *((capital(axis), lambda group, axis=axis: group.picked.get(axis, "")) for axis in picked),
    ]
    bold = {
        (title_of(metric), id(group))
        for metric in records.metrics
        for column in range(len(columns))
        for group in _leaders([row[column] for row in rows], metric, lambda group: group.runs, _best(metric))
    }
    scores = [title_of(metric) for metric in records.metrics]
    shown_rows = []
    for row in rows:
        first = next(group for group in row if group is not None)
        # The star of the baseline is at the row's name, or at the score where the row has others.
        is_alone = all(group is None or group is first for group in row)
        labels = _labels(records, first, records.rows)
        cells = [Cell(label if is_alone else label.removesuffix(STAR)) for label in labels]
        for title, text in parts:
            for group, run in groupby(row, key=lambda group: group):
                span = len(list(run))
                if group is None:
                    cells += [Cell("")] * span
                    continue
                star = STAR if group is records.baseline and not is_alone and title in scores else ""
                cells.append(Cell(text(group) + star, span, (title, id(group)) in bold))
        shown_rows.append(cells)
    numbers = [
        _numbers(records, group, metric, _known(_best(metric), group.runs), group.runs)
        for group in records.groups
        for metric in records.metrics
        if group.runs
    ]
    return Table(
        "validation",
        f"{_listed(records.metrics)} on the validation set.",
        _header(records, [title for title, _ in parts], columns),
        shown_rows,
        len(records.rows),
        numbers,
        _notes(records),
        _blocks(records, rows),
    )


def _columns(records: Records) -> list[Place]:
    """The values of the column axes; a cell that lacks one of them stands in those that say more."""
    found = {_place(group, records.columns): group for group in records.groups}
    return sorted(
        (place for place in found if not any(other != place and _covers(place, other) for other in found)),
        key=lambda place: records.order(found[place].cell, records.columns),
    )


def _place(group: Group, axes: Sequence[str]) -> Place:
    return tuple(group.cell.get(axis) for axis in axes)


def _covers(place: Place, column: Place) -> bool:
    return all(value is None or value == other for value, other in zip(place, column, strict=True))


def _placed(records: Records, columns: Sequence[Place]) -> Iterator[list[Group | None]]:
    """Rows: for each column the group that stands there."""
    for _, found in groupby(
        sorted(records.groups, key=lambda group: records.order(group.cell, records.rows)),
        key=lambda group: _place(group, records.rows),
    ):
        rows: list[list[Group | None]] = []
        for group in sorted(found, key=lambda group: records.order(group.cell, records.columns)):
            own = [_covers(_place(group, records.columns), column) for column in columns]
            free = (row for row in rows if not any(is_own and row[n] for n, is_own in enumerate(own)))
            row = next(free, None)
            if row is None:
                row = [None for _ in columns]
                rows.append(row)
            row[:] = [group if is_own else other for is_own, other in zip(own, row, strict=True)]
        yield from rows


def _header(records: Records, titles: Sequence[str], columns: Sequence[Place]) -> list[list[Cell]]:
    labels = [Cell(capital(axis)) for axis in records.rows]
    if len(columns) == 1:
        return [[*labels, *map(Cell, titles)]]
    empty = [Cell("") for _ in labels]
    above = [*empty, *(Cell(title, len(columns)) for title in titles)]
    names = [Cell(", ".join(value for value in place if value)) for place in columns]
    return [above, [*labels, *names * len(titles)]]


def _blocks(records: Records, rows: Sequence[Sequence[Group | None]]) -> list[int]:
    """Where the first axis of the rows changes."""
    if len(records.rows) < 2:
        return []
    values = [next(group.cell.get(records.rows[0]) for group in row if group is not None) for row in rows]
    return [n for n, value in enumerate(values) if n and value != values[n - 1]]


# -- test -----------------------------------------------------------------------------------------------------------


def test_table(records: Records) -> Table | None:
    """The chosen cells on the test set, and what they gain over the baseline."""
    groups = [group for group in records.test if group.tested]
    metrics = _test_metrics(records)
    if not groups or not metrics:
        return None
    axes = [axis for axis in (*records.rows, *records.columns) if any(axis in group.cell for group in records.test)]
    picked = [axis for axis in records.pick if any(axis in group.picked for group in groups)]
    rows, numbers = [], []
    leaders = {metric: _leaders(groups, metric, lambda group: group.tested, _tested(metric)) for metric in metrics}
    for group in records.test:
        cells = [Cell(text) for text in _labels(records, group, axes)]
        for metric in metrics:
            text = _score(records, group.tested, _tested(metric), metric) + _gain(records, group, metric)
            cells.append(Cell(text, bold=group in leaders[metric]))
            scores = _known(_tested(metric), group.tested)
            if scores:
                numbers.append(
                    _numbers(records, group, metric, scores, group.tested) | _gain_number(records, group, metric)
                )
        cells += [Cell(_updates(group.tested)), *(Cell(group.picked.get(axis, "")) for axis in picked)]
        rows.append(cells)
    titles = [*axes, *map(title_of, metrics), "updates", *picked]
    examples = next(test.examples for group in groups for test in group.tests)
    return Table(
        "test",
        f"{_listed(metrics)} on the test set of {counted(examples, 'example')}.",
        [[Cell(capital(title)) for title in titles]],
        rows,
        len(axes),
        numbers,
        _notes(records, gains=records.baseline is not None and bool(records.baseline.tested)),
        fine_print=list(_signatures(groups, metrics)),
    )


def _test_metrics(records: Records) -> list[str]:
    """Those that are shown; all that there are where validation was by perplexity alone, which tests do not have."""
    there = dict.fromkeys(name for group in records.groups for test in group.tests for name in test.scores)
    return [name for name in records.metrics if name in there] or list(there)


def outputs_table(records: Records) -> Table | None:
    """What else is known of the test outputs: how varied they are, which facts they lack."""
    groups = [group for group in records.test if group.tested]
    names = list(dict.fromkeys(name for group in groups for test in group.tests for name in test.extra))
    if not names:
        return None
    axes = [axis for axis in (*records.rows, *records.columns) if any(axis in group.cell for group in groups)]
    rows, numbers = [], []
    for group in groups:
        values = {name: _extras(name, group) for name in names}
        rows.append([Cell(text) for text in (*_labels(records, group, axes), *map(_mean_of, values.values()))])
        means = {name: fmean(some) if some else None for name, some in values.items()}
        numbers.append({**{axis: group.cell.get(axis) for axis in axes}, **means})
    titles = [[Cell(capital(title)) for title in (*axes, *names)]]
    return Table("outputs", "Outputs for the test set, means over seeds.", titles, rows, len(axes), numbers)


def _gain(records: Records, group: Group, metric: str) -> str:
    gain = _gain_number(records, group, metric)["gain"]
    return "" if gain is None else f" ({_signed(gain, digits_of(metric))})"


def _gain_number(records: Records, group: Group, metric: str) -> dict[str, Any]:
    ours = _known(_tested(metric), group.tested)
    theirs = _known(_tested(metric), records.baseline.tested) if records.baseline is not None else []
    known = ours and theirs and group is not records.baseline and _is_comparable(group, records.baseline, metric)
    return {"gain": fmean(ours) - fmean(theirs) if known else None}


def _is_comparable(group: Group, baseline: Group | None, metric: str) -> bool:
    """Whether two groups were scored in the same way."""
    return len({test.signatures.get(metric) for one in (group, baseline) if one for test in one.tests}) <= 1


def _signed(number: float, digits: int) -> str:
    # A negative number that is too small for its digits stays negative: an interval that reaches over 0 shows it.
    return f"{'−' if number < 0 else '+'}{abs(number):.{digits}f}"


def _extras(name: str, group: Group) -> list[float]:
    return [test.extra[name] for test in group.tests if name in test.extra]


def _mean_of(values: Sequence[float]) -> str:
    if not values:
        return ""
    mean = fmean(values)
    if all(isinstance(value, int) for value in values):
        return f"{mean:,.0f}" if mean.is_integer() else f"{mean:,.1f}"
    return f"{mean:,.3f}"


def _signatures(groups: Sequence[Group], metrics: Sequence[str]) -> Iterator[str]:
    for metric in metrics:
        found = dict.fromkeys(
            test.signatures[metric] for group in groups for test in group.tests if metric in test.signatures
        )
        several = " (several: do not compare their scores)" if len(found) > 1 else ""
        yield f"{title_of(metric)}: {'; '.join(found)}{several}"


# -- comparisons ----------------------------------------------------------------------------------------------------


def comparisons_table(records: Records) -> Table | None:
    """Each cell of the test table against the baseline, and the pairs that are named: by how much the first is better,
    and whether by more than chance."""
    baseline = records.baseline
    pairs = [(group, baseline) for group in records.test if baseline is not None and group is not baseline]
    pairs += records.pairs
    axes = [axis for axis in (*records.rows, *records.columns) if any(axis in group.cell for group, _ in pairs)]
    rows: list[list[Cell]] = []
    numbers: list[dict[str, object]] = []
    blocks = []
    is_one_each = True
    for group, other in pairs:
        blocks.append(len(rows))
        for metric in _test_metrics(records):
            ours, theirs = _statistics(group, metric), _statistics(other, metric)
            if not ours or not theirs or not _is_comparable(group, other, metric):
                continue
            is_one_each &= len(ours) == len(theirs) == 1
            found, digits = compare(ours, theirs), digits_of(metric)
            low, high = (_signed(limit, digits) for limit in (found.low, found.high))
            texts = [*_labels(records, group, axes), *([shown(other.cell)] if records.pairs else [])]
            texts += [title_of(metric), _signed(found.difference, digits)]
            texts += [f"{low} to {high}", _p_value(found.p_bootstrap), _p_value(found.p_randomisation)]
            rows.append([Cell(text) for text in texts])
            names = [axis for axis in records.axes if axis not in records.pick]
            cell = {axis: group.cell.get(axis) for axis in names}
            seeds = {"seeds": len(ours), "baseline_seeds": len(theirs)}
            numbers.append({**cell, "against": cell_name(dict(other.cell)), "metric": metric, **asdict(found), **seeds})
    if not rows:
        return None
    drawn = "Seeds and examples are drawn together."
    if is_one_each:
        drawn = "One seed each: examples are drawn; whether other seeds would differ is not tested."
    titles = [*map(capital, axes), *(["Against"] if records.pairs else [])]
    one = f"Test scores against the baseline ({shown(pairs[0][1].cell)})."
    fixed = len(titles) + 1
    titles += ["Metric", "Difference", "95 % interval", "p, bootstrap", "p, randomisation"]
    return Table(
        "comparisons",
        "Differences of test scores." if records.pairs else one,
        [[Cell(title) for title in titles]],
        rows,
        fixed,
        numbers,
        [f"{drawn} p-values are two-sided and not corrected for several comparisons."],
        blocks[1:],
    )


def _statistics(group: Group, metric: str) -> list[Statistics]:
    """Of each seed that has them."""
    return [test.per_example[metric] for test in group.tests if metric in test.per_example]


def _p_value(value: float) -> str:
    return f"{value:.3f}" if value >= 0.0005 else "< 0.001"


# -- what tables share ----------------------------------------------------------------------------------------------


def _best(metric: str) -> Callable[[Record], float]:
    return lambda run: score_of(run, metric)


def _tested(metric: str) -> Callable[[Record], float | None]:
    return lambda run: None if run.test is None else run.test.scores.get(metric)


def _known(score: Callable[[Record], float | None], runs: Sequence[Record]) -> list[float]:
    return [value for run in runs if (value := score(run)) is not None]


def _score(records: Records, runs: Sequence[Record], score: Callable[[Record], float | None], metric: str) -> str:
    values = _known(score, runs)
    if not values:
        return ""
    digits = digits_of(metric)
    text = f"{fmean(values):.{digits}f}" + (f" ± {stdev(values):.{digits}f}" if len(values) > 1 else "")
    return text if len(values) == records.seeds_there else f"{text} ({counted(len(values), 'seed')})"


def _updates(runs: Sequence[Record]) -> str:
    if not runs:
        return ""
    return f"{fmean(run.best.updates for run in runs):,.0f} of {fmean(run.updates for run in runs):,.0f}"


def _leaders(
    groups: Sequence[Group | None],
    metric: str,
    runs_of: Callable[[Group], Sequence[Record]],
    score: Callable[[Record], float | None],
) -> list[Group]:
    """The best by a metric, several where they look the same; nobody where all do."""
    means = [
        (round(fmean(values), digits_of(metric)), group)
        for group in groups
        if group
        for values in [_known(score, runs_of(group))]
        if values
    ]
    if len({mean for mean, _ in means}) < 2:
        return []
    best = (min if metric in LOWER_IS_BETTER else max)(mean for mean, _ in means)
    return [group for mean, group in means if mean == best]


def _labels(records: Records, group: Group, axes: Sequence[str]) -> list[str]:
    """The values of a row; the baseline has a star behind the last one."""
    texts = [group.cell.get(axis, "") for axis in axes]
    if group is records.baseline and texts:
        last = max((n for n, text in enumerate(texts) if text), default=0)
        texts[last] += STAR
    return texts


def _numbers(
    records: Records, group: Group, metric: str, scores: Sequence[float], runs: Sequence[Record]
) -> dict[str, object]:
    axes = [axis for axis in records.axes if axis not in records.pick]
    return {
        **{axis: group.cell.get(axis) for axis in axes},
        **{f"picked {axis}": group.picked.get(axis) for axis in records.pick},
        "metric": metric,
        "mean": fmean(scores),
        "deviation": stdev(scores) if len(scores) > 1 else None,
        "seeds": len(scores),
        "best_updates": fmean(run.best.updates for run in runs),
        "updates": fmean(run.updates for run in runs),
    }


def _listed(metrics: Sequence[str]) -> str:
    *before, last = map(title_of, metrics)
    return f"{', '.join(before)} and {last}" if before else last


def _notes(records: Records, *, gains: bool = False) -> list[str]:
    """What a reader must know, in one paragraph."""
    seeds = records.seeds_there
    notes = [f"Mean ± standard deviation over {seeds} seeds." if seeds > 1 else "One seed."]
    notes += ["In brackets: gain over the baseline."] if gains else []
    notes += ["Updates: of the best weights, of the whole run.", "Bold: best of a column."]
    notes += [f"{STAR}Baseline."] if records.baseline is not None else []
    if records.pick:
        names = " and ".join(map(capital, records.pick))
        notes.append(f"{names}: the best by {title_of(records.goal)} on the validation set, seed {records.seeds[0]}.")
    return [" ".join(notes)]
