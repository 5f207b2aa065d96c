"""The page about a run of `expand`: sizes of lattices, what was kept, who fell short, examples with their maps.

In:   expanded examples, twice: once to count, then those that are drawn or looked at again.
Out:  one HTML file that needs nothing from anywhere else.
Not:  the counts of the whole data set (stats.py), maps (page.py).

The file of a run does not hold what was left out. So a hundred examples, spread over the file, are merged again: of the
sentences that BLEU alone would choose, those that a rule refuses are counted. A lattice counts as merged again only if
it has as many sentences as the file says: with another encoder or tokenizer it would be another one.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, quantiles

from polyref.align import AlignSettings
from polyref.draw.page import BEST, HOW_TO_READ, Drawn, Exhibit, document, draw_exhibit
from polyref.draw.svg import visible
from polyref.errors import InputError
from polyref.example import JUDGEMENTS, Example
from polyref.fresh import lattice_of
from polyref.judge import EXAMPLES_READ, Usage, left_out, rules_of
from polyref.lattice import CAUSES, AutoEngine, Lattice, SearchSettings
from polyref.text import TextSettings, tokenize

_LOOKED_AT = 100  # examples that are merged again
_SHOWN = 3  # examples of each kind with their maps
_REFUSED = 3  # sentences under a map that were left out
_MOST_BINS = 12
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 430.0, 210.0, 56.0, 18.0, 42.0  # points, of a chart
_REFUSAL = {
    "twice": "say something twice",
    "lost": "lose something",
    "marks": "leave marks open",
    "same": "are not new",
}
_JUDGED = {
    "bleu": ("BLEU", "against the references of the example"),
    "content": ("Content", "share of what most references say that it says"),
    "crossings": ("Crossings", "times that it changes from one reference to another"),
    "risk": ("Risk", "of the places where references are joined; 0 is what references have"),
    "fluency": ("Fluency", "mean log-probability of its words"),
}


@dataclass
class RunFacts:
    """What is counted of a run, one example after the other; some numbers are kept of each example."""

    text: TextSettings
    lengths: array[float] = field(default_factory=lambda: array("d"))  # mean words per reference
    sizes: array[float] = field(default_factory=lambda: array("d"))  # log10 of the sentences of its lattice
    means: array[float] = field(default_factory=lambda: array("d"))  # BLEU of its pseudo-references; nan: it has none
    kept: array[int] = field(default_factory=lambda: array("l"))  # its pseudo-references that are no repeats
    all: array[int] = field(default_factory=lambda: array("l"))  # its references, with these
    wanted: int = 0  # references per example that were asked for: the most that any example was filled up to
    inexact: int = 0
    penalties: set[float | None] = field(default_factory=set)  # None: hard alignment
    judged: defaultdict[str, Counter[float]] = field(default_factory=lambda: defaultdict(Counter))
    _words: list[list[tuple[str, ...]]] = field(default_factory=list)  # of the first examples

    def watch(self, examples: Iterable[Example]) -> Iterator[Example]:
        """The same examples, counted on their way."""
        for example in examples:
            self._add(example)
            yield example

    def _add(self, example: Example) -> None:
        if example.lattice is None:
            cure = "run polyref expand on it first, and give its output in JSON Lines or Parquet"
            raise InputError(
                "the page is about a run of expand, and this example was not expanded", cure, line=example.line
            )
        words = [tokenize(reference.text, self.text).words for reference in example.references]
        if len(self._words) < EXAMPLES_READ:
            self._words.append(words)
        new = [pseudo for pseudo in example.pseudo_references if not pseudo.repeat]
        self.lengths.append(fmean(map(len, words)))
        self.sizes.append(math.log10(example.lattice.sentences))
        self.means.append(fmean([pseudo.bleu for pseudo in new]) if new else math.nan)
        self.kept.append(len(new))
        self.all.append(len(words) + len(new))
        self.wanted = max(self.wanted, len(words) + len(new) if new else 0)
        self.inexact += not example.lattice.exact
        self.penalties.add(example.lattice.penalty)
        for pseudo in new:
            for name in ("bleu", *JUDGEMENTS):
                if (value := getattr(pseudo, name)) is not None:
                    self.judged[name][round(value, 2)] += 1

    @property
    def usage(self) -> Usage:
        """What is known of the words, as `expand` knows it."""
        return Usage.of(self._words)

    def chosen(self) -> dict[str, list[int]]:
        """The numbers of the examples with the best, middling and worst pseudo-references."""
        known = [n for n, mean in enumerate(self.means) if not math.isnan(mean)]
        known.sort(key=lambda n: (-round(self.means[n], 1), -self.all[n], -self.sizes[n], n))
        best, worst = known[:_SHOWN], known[_SHOWN:][-_SHOWN:][::-1]
        between = known[_SHOWN : len(known) - _SHOWN]
        middle = max(0, (len(between) - _SHOWN) // 2)
        return {"Best": best, "Median": between[middle : middle + _SHOWN], "Worst": worst}


# -- the second look --------------------------------------------------------------------------------------------------


@dataclass
class _Seen:
    """What the second look found."""

    drawn: dict[int, Drawn] = field(default_factory=dict)
    looked_at: int = 0  # examples that could be merged again
    sentences: int = 0  # that BLEU alone would choose
    refused: Counter[str] = field(default_factory=Counter)


def run_page(facts: RunFacts, again: Iterable[Example], title: str, engine: AutoEngine | None = None) -> str:
    """The page. `again` are the same examples from the beginning; lattices are merged by `engine`."""
    chosen = facts.chosen()
    seen = _look_again(facts, again, {n for numbers in chosen.values() for n in numbers}, engine or AutoEngine())
    body = [f"<h1>{visible(title)}</h1>", f"<p>{_made(facts)}</p>", _tiles(facts)]
    body += ["<h2>Against the length of references</h2>", '<div class="charts">', *_by_length(facts), "</div>"]
    body += ["<h2>Pseudo-references</h2>", '<div class="charts">', _filled(facts), *_judgements(facts), "</div>"]
    body += ["<h2>Left out</h2>", *_refusals(seen, is_judged="content" in facts.judged or "crossings" in facts.judged)]
    how = "".join(f"<p>{line}</p>" for line in HOW_TO_READ)
    body += ["<h2>Examples</h2>", f"<details><summary>How to read the maps</summary>{how}</details>"]
    for kind, numbers in chosen.items():
        if numbers:
            body.append(f"<h2>{kind}, by the mean BLEU of pseudo-references</h2>")
        for n in numbers:
            one, state = seen.drawn[n], " open" if n == chosen["Best"][0] else ""
            note = f"mean BLEU {facts.means[n]:.1f} of {facts.kept[n]} pseudo-references; {one.note}"
            summary = f'<h3 dir="auto">{visible(one.title)}</h3><span class="from" dir="auto">{visible(note)}</span>'
            body.append(f'<details class="one"{state}><summary>{summary}</summary>{one.body}</details>')
    return document(title, body, "auto")


def _look_again(facts: RunFacts, examples: Iterable[Example], drawn: set[int], engine: AutoEngine) -> _Seen:
    seen, usage = _Seen(), facts.usage
    every = max(1, math.ceil(len(facts.sizes) / _LOOKED_AT))
    for number, example in enumerate(examples):
        if number not in drawn and number % every:
            continue
        lattice = _merged_again(example, facts.text, engine)
        is_judged = any(pseudo.crossings is not None for pseudo in example.pseudo_references)
        if lattice is not None and (is_judged or not example.pseudo_references):
            lattice.rules = lattice.rules or rules_of(lattice, usage)
            if number % every == 0:
                _count_refused(seen, lattice, facts.wanted - len(example.references))
        if number in drawn:
            seen.drawn[number] = _drawn(example, lattice)
    return seen


def _merged_again(example: Example, text: TextSettings, engine: AutoEngine) -> Lattice | None:
    """The lattice that the example's pseudo-references came from, if it can be had."""
    summary = example.lattice
    assert summary is not None
    if summary.kept is not None:
        return lattice_of(example, engine, share=1.0)
    align = AlignSettings() if summary.penalty is None else AlignSettings("soft", penalty=summary.penalty)
    texts = [reference.text for reference in example.references]
    lattice = Lattice.from_references(texts, align=align, text=text, engine=engine)
    return lattice if lattice.count == summary.sentences else None


def _count_refused(seen: _Seen, lattice: Lattice, wanted: int) -> None:
    """Count what BLEU alone would choose, and what of it the rules refuse."""
    rules, free = lattice.rules, replace(lattice, rules=None)
    assert rules is not None
    seen.looked_at += 1
    cores = set(map(rules.core, lattice.numbering.references))
    for words in free.numbered(free.search(max(0, wanted), SearchSettings())):
        seen.sentences += 1
        broken = rules.broken(words)
        if broken is not None:
            seen.refused[CAUSES[broken.cause_of(broken.holds(words))]] += 1
        elif rules.core(words) in cores:
            seen.refused["same"] += 1


def _drawn(example: Example, lattice: Lattice | None) -> Drawn:
    """An example with its map, its first pseudo-references and the best of what was left out."""
    says_more = isinstance(example.source, str) and example.source != example.id
    note = example.source if says_more else example.references[0].text
    new = [pseudo for pseudo in example.pseudo_references if not pseudo.repeat]
    if lattice is None:
        rows = [f'<tr><td></td><td dir="auto">{visible(reference.text)}</td></tr>' for reference in example.references]
        rows += [_row(pseudo.bleu, visible(pseudo.text)) for pseudo in new[:BEST]]
        why = "No map: the lattice was made with other settings. Expand with --keep-lattice to have one."
        return Drawn(example.id, note, {}, f"<p>{why}</p><table>{''.join(rows)}</table>")
    sentences = [found for pseudo in new[:BEST] if (found := lattice.sentence(pseudo.text)) is not None]
    drawn = draw_exhibit(Exhibit(example.id, note, lattice, sentences))
    refused = left_out(lattice, _REFUSED, SearchSettings())
    if not refused:
        return drawn
    rows = [_row(one.bleu, f'{visible(one.text)} <span class="from">{visible(one.reason)}</span>') for one in refused]
    return drawn._replace(body=f"{drawn.body}<table><tr><th>BLEU</th><th>left out</th></tr>{''.join(rows)}</table>")


def _row(bleu: float, text: str) -> str:
    return f'<tr><td>{bleu:.1f}</td><td dir="auto">{text}</td></tr>'


# -- sections ---------------------------------------------------------------------------------------------------------


def _made(facts: RunFacts) -> str:
    """How the pseudo-references were made, as far as a file tells."""
    soft = sorted(one for one in facts.penalties if one is not None)
    penalty = "" if not soft else f", penalty {soft[0]:g}" + (f" to {soft[-1]:g}" if len(soft) > 1 else "")
    align = "soft" if soft and None not in facts.penalties else "hard and soft" if soft else "hard"
    judge = "seams" if "risk" in facts.judged else "content" if "crossings" in facts.judged else "bleu"
    return f"Alignment: {align}{penalty}. Judge: {judge}."


def _tiles(facts: RunFacts) -> str:
    """The numbers that matter most."""
    examples, gold = len(facts.sizes), sum(facts.all) - sum(facts.kept)
    total, short = sum(facts.all), sum(count < facts.wanted for count in facts.all)
    bleu = facts.judged["bleu"]
    mean = sum(value * number for value, number in bleu.items()) / max(1, bleu.total())
    shown = [
        (f"{examples:,}", "examples"),
        (f"{gold:,} → {total:,}", f"references, {gold / max(1, examples):.1f} → {total / max(1, examples):.1f} each"),
        (_power(_middle(facts.sizes)), "sentences per lattice (median)"),
        (f"{mean:.1f}", "mean BLEU of pseudo-references"),
        (f"{short:,}", f"{'example' if short == 1 else 'examples'} with fewer than the most, {facts.wanted}")
        if facts.wanted
        else (f"{examples:,}", "examples without a pseudo-reference"),
        (f"{facts.inexact:,}", "examples whose search was cut short"),
    ]
    return (
        '<dl class="tiles">' + "".join(f"<div><dd>{value}</dd><dt>{what}</dt></div>" for value, what in shown) + "</dl>"
    )


def _middle(logarithms: Sequence[float]) -> float:
    """The logarithm of the median of numbers given by their logarithms, which may be too large for a float."""
    ordered, half = sorted(logarithms), len(logarithms) // 2
    low, high = ordered[(len(ordered) - 1) // 2], ordered[half]
    return high + math.log10((1 + 10 ** (low - high)) / 2)


def _by_length(facts: RunFacts) -> Iterator[str]:
    """The paper's Figure 6: how many sentences lattices have, and the BLEU of what was kept, by the length."""
    sizes, scores, bins = defaultdict(list), defaultdict(list), _bins(facts.lengths)
    for length, size, mean in zip(facts.lengths, facts.sizes, facts.means, strict=True):
        place = _bin_of(length, bins)
        sizes[place].append(size)
        if not math.isnan(mean):
            scores[place].append(mean)
    labels = [f"{low:g}" if high - low == 1 else f"{low:g}–{high - 1:g}" for low, high in bins]
    words = "words per reference"
    of_sizes, of_scores = ([_quartiles(found[n]) for n in range(len(bins))] for found in (sizes, scores))
    lowest = min((column[0] for column in of_scores if column is not None), default=0.0)
    half = "median, and the middle half"
    yield _ranges(f"Sentences per lattice: {half}", words, labels, of_sizes, _powers(facts.sizes))
    yield _ranges(f"Mean BLEU kept: {half}", words, labels, of_scores, _steps(lowest, 100.0))


def _bins(values: Sequence[float]) -> list[tuple[int, int]]:
    """Ranges of whole numbers, few enough to be seen; the rarest long ones share the last."""
    ordered = sorted(values)
    low, high = math.floor(ordered[0]), math.floor(ordered[int(0.99 * (len(ordered) - 1))])
    step = max(1, math.ceil((high - low + 1) / _MOST_BINS))
    return [(start, start + step) for start in range(low, high + 1, step)]


def _bin_of(value: float, bins: Sequence[tuple[float, float]]) -> int:
    return min(int((value - bins[0][0]) / (bins[0][1] - bins[0][0])), len(bins) - 1)


def _quartiles(values: Sequence[float]) -> tuple[float, float, float, int] | None:
    if not values:
        return None
    low, middle, high = quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    return low, middle, high, len(values)


def _filled(facts: RunFacts) -> str:
    """How many references examples have now."""
    counts, low, high = Counter(facts.all), min(facts.all), max(facts.all)
    width = 1 if high - low < 3 * _MOST_BINS else math.ceil((high - low + 1) / _MOST_BINS)
    starts = range(low, high + 1, width)
    labels = [str(start) if width == 1 else f"{start}–{start + width - 1}" for start in starts]
    bars = [sum(counts[count] for count in range(start, start + width)) for start in starts]
    return _bars("Examples by their number of references", "references, gold ones included", labels, bars)


def _judgements(facts: RunFacts) -> Iterator[str]:
    """How pseudo-references were judged."""
    for name, (title, meaning) in _JUDGED.items():
        counts = facts.judged.get(name)
        if not counts:
            continue
        if all(value == int(value) for value in counts) and len(counts) <= 2 * _MOST_BINS:  # crossings
            values: list[float] = list(range(int(max(counts)) + 1))
            yield _bars(
                f"{title} of pseudo-references", meaning, [f"{v:g}" for v in values], [counts[v] for v in values]
            )
            continue
        low, high, step = _around(_at_least(counts, 0.02), max(counts))
        bins = [(low + n * step, low + (n + 1) * step) for n in range(max(1, round((high - low) / step)))]
        grouped: Counter[int] = Counter()
        for value, number in counts.items():
            grouped[max(0, _bin_of(value + 1e-9, bins))] += number
        labels = [f"{start:.4g}–{end:.4g}" for start, end in bins]
        if min(counts) < low:
            labels[0] = f"under {bins[0][1]:.4g}"
        yield _bars(f"{title} of pseudo-references", meaning, labels, [grouped[n] for n in range(len(bins))])


def _at_least(counts: Counter[float], share: float) -> float:
    """The value that all but a share of the values reach."""
    passed, most = 0, share * counts.total()
    for value in sorted(counts):
        passed += counts[value]
        if passed > most:
            return value
    return 0.0


def _refusals(seen: _Seen, *, is_judged: bool) -> Iterator[str]:
    if not is_judged:
        yield "<p>Nothing was left out: pseudo-references were chosen by BLEU alone.</p>"
        return
    if not seen.looked_at:
        yield "<p>Not known: the lattices were made with other settings. Expand with --keep-lattice to know.</p>"
        return
    share = 100 * seen.refused.total() / max(1, seen.sentences)
    yield (
        f"<p>Of {seen.sentences:,} sentences that BLEU alone would choose for {seen.looked_at:,} examples, spread over "
        f"the file, rules leave out {seen.refused.total():,} ({share:.0f} %), and others come in their place. "
        "(<code>expand</code> counts all that its search leaves out, which is more.)</p>"
    )
    known = [cause for cause in CAUSES if seen.refused[cause]]
    rows = "".join(f"<tr><td>{seen.refused[cause]:,}</td><td>{_REFUSAL[cause]}</td></tr>" for cause in known)
    yield f"<table>{rows}</table>"


# -- charts -----------------------------------------------------------------------------------------------------------

_Place = Callable[[float, float], tuple[float, float]]
_Ticks = tuple[float, float, Mapping[float, str]]  # the lowest and the highest value, and the labels between


def _bars(title: str, under: str, labels: Sequence[str], counts: Sequence[int]) -> str:
    """A histogram."""
    parts, place, width = _axes(title, under, labels, _steps(0, max([*counts, 4])))
    for n, count in enumerate(counts):
        x, y = place(n, count)
        height, hint = _HEIGHT - _BOTTOM - y, f"<title>{visible(labels[n])}: {count:,}</title>"
        box = f'x="{x - 0.4 * width:.1f}" y="{y:.1f}" width="{0.8 * width:.1f}" height="{height:.1f}"'
        parts.append(f"<rect {box}>{hint}</rect>")
        if count and len(counts) <= 20:
            parts.append(f'<text class="count" x="{x:.1f}" y="{y - 3:.1f}">{count:,}</text>')
    return "".join([*parts, "</svg></figure>"])


def _ranges(
    title: str,
    under: str,
    labels: Sequence[str],
    columns: Sequence[tuple[float, float, float, int] | None],
    ticks: _Ticks,
) -> str:
    """For each column a median, and the range of the middle half."""
    parts, place, width = _axes(title, under, labels, ticks)
    for n, column in enumerate(columns):
        if column is None:
            continue
        low, middle, high, count = column
        (x, y), (_, top), (_, bottom) = place(n, middle), place(n, high), place(n, low)
        hint = f"<title>{visible(labels[n])}: {count:,} examples</title>"
        height = max(1.0, bottom - top)
        parts.append(
            f'<rect class="half" x="{x - 0.35 * width:.1f}" y="{top:.1f}" width="{0.7 * width:.1f}" '
            f'height="{height:.1f}">{hint}</rect><path d="M{x - 0.35 * width:.1f} {y:.1f}h{0.7 * width:.1f}"/>'
        )
    return "".join([*parts, "</svg></figure>"])


def _axes(title: str, under: str, labels: Sequence[str], ticks: _Ticks) -> tuple[list[str], _Place, float]:
    """The frame of a chart; where a value of a column is; the width of a column."""
    low, high, named = ticks
    width = (_WIDTH - _LEFT - 6) / len(labels)

    def place(column: float, value: float) -> tuple[float, float]:
        up = (value - low) / ((high - low) or 1.0)
        return _LEFT + width * (column + 0.5), _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * up

    parts = [
        f'<figure><figcaption>{visible(title)}</figcaption><svg class="chart line0" role="img" '
        f'viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" aria-label="{visible(title)}">'
    ]
    for value, text in named.items():
        _, y = place(0, value)
        parts.append(f'<path class="grid" d="M{_LEFT:.0f} {y:.1f}H{_WIDTH - 6:.0f}"/>')
        parts.append(f'<text class="left" x="{_LEFT - 6:.0f}" y="{y + 4:.1f}">{text}</text>')
    longest = max(map(len, labels))
    every = math.ceil(len(labels) * (7.0 * longest + 6) / (_WIDTH - _LEFT))
    for n in range(0, len(labels), every):
        x, _ = place(n, low)
        parts.append(f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 16:.1f}">{visible(labels[n])}</text>')
    middle = (_LEFT + _WIDTH) / 2
    parts.append(f'<text x="{middle:.1f}" y="{_HEIGHT - 6:.1f}">{visible(under)}</text>')
    return parts, place, width


def _around(low: float, high: float) -> tuple[float, float, float]:
    """Round limits around two values, and a round step between them."""
    span = high - low or 1.0
    size = 10.0 ** math.floor(math.log10(span / 10))
    step = next(size * n for n in (1, 2, 5, 10) if span / (size * n) <= 10.5)
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, step


def _steps(least: float, most: float) -> _Ticks:
    """Round values from 0 up, or from the highest down."""
    low, high, step = _around(least, most)
    every = 2 if (high - low) / step > 6 else 1
    places = range(0, round((high - low) / step) + 1, every)
    values = [low + n * step if low == 0 else high - n * step for n in places]
    return low, high, {value: f"{value:,.6g}" for value in values}


def _powers(values: Sequence[float]) -> _Ticks:
    high = max(1, math.ceil(sorted(values)[int(0.99 * (len(values) - 1))]))
    every = math.ceil(high / 6)
    return 0.0, float(high), {float(n): _power(n) for n in range(0, high + 1, every)}


def _power(log10: float) -> str:
    """A number given by its logarithm, short."""
    if log10 < 5.99:
        return f"{round(10**log10, 1):,}".removesuffix(".0")
    return f"1e{log10:.0f}" if log10 == int(log10) else f"{10 ** (log10 % 1):.1f}e{int(log10)}"
