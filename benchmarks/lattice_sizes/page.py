"""The page: findings, method, tables.

In:   the sets. Out: Markdown. Not: drawing (picture.py).

Every remark is computed from the numbers, so that it stays true when they change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from statistics import correlation, fmean

from benchmarks.lattice_sizes.measuring import ADAPTIVE, ALIGNMENTS, HARD, SOFTEST, STRICTEST, USUAL, WANTED
from benchmarks.lattice_sizes.sums import ALL, Set, Summary
from benchmarks.table import Table
from polyref import AlignSettings

READING = f"""
## How to read the tables

- Sentences are distinct sentences, including the references. "90 %": nine lattices of ten have no more.
- Length is the mean over an example's references, in words, with punctuation. "10 to 11" is at least 10 and below 11.
  Bins with few examples are joined with their neighbours.
- One word more: the factor of the number of sentences for one more word, at an equal number of references (least
  squares on the logarithm). Length explains: the share of the variance between lattices that length explains alone,
  and together with the number of references.
- BLEU is that of an example's best {WANTED} new sentences that score above 0, or of all if there are fewer: the mean
  over these, then over the examples. "At equal number" takes as many sentences per example as every alignment has;
  otherwise a small lattice looks good, because it has only its best ones.
"""


def page(sets: Sequence[Set], picture: str, made: Sequence[str]) -> str:
    remarks = [growing(sets), exponential(sets), *confounded(sets), softer(sets), quality(sets), adaptive(sets)]
    lines = [
        "# Lattice sizes",
        "",
        "Number of distinct sentences in the lattice of an example, and BLEU of its best new ones, by the mean length",
        "of its references: the paper's Figure 6, on public data.",
        "",
        f"![Sentences in a lattice, and BLEU of the best, against length, for three data sets]({picture})",
        "",
        f"The shaded area has nine lattices of ten at penalty {USUAL} (5 to 95 %). The scale of sentences differs",
        "between the sets, that of BLEU does not.",
        "",
        "## Findings",
        "",
        *(f"- {remark}" for remark in [*remarks, beside_the_paper(sets)]),
        "",
        "## Method",
        "",
        *(f"- {remark}" for remark in made),
    ]
    return "\n".join(lines) + f"\n{READING}\n" + "\n".join(table for one in sets for table in tables(one))


# -- findings -----------------------------------------------------------------------------------------------------


def growing(sets: Sequence[Set]) -> str:
    def factors(alignment: str) -> str:
        return _each(sets, lambda one: f"{one.growth(alignment).factor:.2f}")

    explained = _each(sets, lambda one: f"{one.growth(USUAL).length:.0%}")
    return (
        f"Longer references give larger lattices: one word more multiplies the sentences by {factors(HARD)} with hard "
        f"alignment, and at penalty {USUAL} by {factors(USUAL)}. This predicts little for a single example: at penalty "
        f"{USUAL}, length alone explains {explained} of the variance between lattices (of the logarithm)."
    )


def exponential(sets: Sequence[Set]) -> str:
    shares = _each(sets, lambda one: f"{one.growth(USUAL).both:.1%} and {one.growth(USUAL).power:.1%}")
    return (
        'The paper says that the number "grows exponentially" with length. On this data that is hard to '
        "distinguish from growth by a power of the length: together with the number of references, the two explain "
        f"{shares}."
    )


def confounded(sets: Sequence[Set]) -> Iterator[str]:
    """Where the number of references differs, length is not alone in making lattices large."""
    for one in sets:
        lengths = [lattice.length for lattice in one.lattices[HARD]]
        references = [lattice.references for lattice in one.lattices[HARD]]
        if max(references) - min(references) < 3:
            continue
        growth, together = one.growth(USUAL), correlation(lengths, references)
        which, effect = ("fewer", "flatter") if together < 0 else ("more", "steeper")
        yield (
            f"{one.name}'s examples have {min(references)} to {max(references)} references. Their number and length "
            f"together explain {growth.both:.0%}, length alone {growth.length:.0%}. Examples with longer references "
            f"have {which} of them (correlation {together:.2f}), so its lines are {effect} than by length alone."
        )


def softer(sets: Sequence[Set]) -> str:
    fewer = any(one.summary(STRICTEST).median < one.summary(HARD).median for one in sets)
    why = ": fewer than with hard alignment, because equal words in different contexts are not linked" * fewer
    return (
        f"A lower penalty gives larger lattices: from hard alignment to penalty {SOFTEST}, the median goes from "
        f"{_each(sets, lambda one: _from_to(one, HARD, SOFTEST))}. At {STRICTEST}, where almost only equal "
        f"words are linked, it is {_each(sets, lambda one: shown(one.summary(STRICTEST).median))}{why}."
    )


def quality(sets: Sequence[Set]) -> str:
    def over_alignments(one: Set) -> str:
        bleus = sorted(one.summary(alignment).bleu for alignment in ALIGNMENTS)
        return f"{bleus[0]:.1f} to {bleus[-1]:.1f}"

    def over_lengths(one: Set) -> str:
        shortest, longest = (one.summary(USUAL, one.bins[end]).bleu for end in (0, -1))
        return f"{shortest:.1f} to {longest:.1f}"

    return (
        f"The mean BLEU of the best {WANTED}, from the alignment with the lowest to the one with the highest, is "
        f"{_each(sets, over_alignments)}; from the shortest references to the longest, at penalty {USUAL}, it is "
        f"{_each(sets, over_lengths)}. This does not measure the links: a larger lattice offers more "
        f"sentences to choose {WANTED} from, and BLEU counts pieces of references, whether or not they fit together."
    )


def adaptive(sets: Sequence[Set]) -> str:
    start, enough = AlignSettings().penalty_start, AlignSettings().at_least

    def share(one: Set, alignment: str) -> str:
        return f"{fmean(lattice.sentences >= enough for lattice in one.lattices[alignment]):.1%}"

    def unmoved(one: Set) -> str:
        return f"{fmean(lattice.penalty == start for lattice in one.lattices[ADAPTIVE]):.0%}"

    return (
        f"With hard alignment, {_each(sets, lambda one: share(one, HARD))} of the examples have {enough} sentences or "
        f"more; with the adaptive penalty, {_each(sets, lambda one: share(one, ADAPTIVE))}. It stays at {start} for "
        f"{_each(sets, unmoved)} and goes down for the others, whose lattices would be small."
    )


def beside_the_paper(sets: Sequence[Set]) -> str:
    def facts(one: Set) -> str:
        whole = one.summary(USUAL)
        return f"{whole.length:.1f} words, {shown(whole.median)} sentences, BLEU {whole.bleu:.1f}"

    return (
        "The paper says that captions, being shorter than its translations, give fewer sentences and worse ones. Here, "
        f"at penalty {USUAL}: {_each(sets, facts)}. None of the sets is a translation like the paper's (of "
        "Multi30k's five references, four are captions of the same picture by others), and the plots of the paper are "
        "not available, so its numbers cannot be compared."
    )


def _from_to(one: Set, before: str, after: str) -> str:
    return f"{shown(one.summary(before).median)} to {shown(one.summary(after).median)}"


def _each(sets: Sequence[Set], say: Callable[[Set], str]) -> str:
    return ", ".join(f"{say(one)} ({one.name})" for one in sets)


# -- tables -------------------------------------------------------------------------------------------------------


def tables(one: Set) -> Iterator[str]:
    yield by_alignment(one).markdown()
    sizes = "sentences by length (median / 90 % / largest)"
    yield "#" + by_length(one, sizes, lambda part: " / ".join(_sizes(part))).markdown()
    yield "#" + by_length(one, f"mean BLEU of the best {WANTED} by length", lambda part: _two(part.bleu)).markdown()


def by_alignment(one: Set) -> Table:
    at_equal_number = one.bleu_of_as_many()
    rows = []
    for alignment in ALIGNMENTS:
        whole, growth = one.summary(alignment), one.growth(alignment)
        bleus = _two(whole.bleu), _two(at_equal_number[alignment])
        fit = f"x {growth.factor:.2f}", f"{growth.length:.0%}, {growth.both:.0%}"
        rows.append([_alignment(alignment), *_sizes(whole), *fit, f"{whole.found:.1f}", *bleus])
    columns = ["alignment", "sentences, median", "90 %", "largest", "one word more", "length explains"]
    return Table(
        f"{one.name}: {one.summary(HARD).examples:,} examples",
        [*columns, f"new, of {WANTED}", "mean BLEU", "at equal number"],
        rows,
    )


def by_length(one: Set, title: str, cell: Callable[[Summary], str]) -> Table:
    rows = []
    for part in [*one.bins, ALL]:
        summaries = [one.summary(alignment, part) for alignment in ALIGNMENTS]
        rows.append([str(part), f"{summaries[0].examples:,}", *map(cell, summaries)])
    return Table(f"{one.name}, {title}", ["words", "examples", *map(_alignment, ALIGNMENTS)], rows)


def _alignment(name: str) -> str:
    return name if name in (HARD, ADAPTIVE) else f"soft {name}"


def _sizes(part: Summary) -> list[str]:
    return [shown(count) for count in (part.median, part.most, part.largest)]


def _two(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"


def shown(count: int) -> str:
    """A count as 12,345, or as 1.2e9 where that would be long."""
    if count < 1_000_000:
        return f"{count:,}"
    digits, _, power = f"{count:.1e}".partition("e")
    return f"{digits}e{int(power)}"
