"""How well counts predict a word between its two neighbours: the peer of the bidirectional language model.

In:   sentences as numbers of words, to count, and others to judge by.
Out:  perplexity over the same closed vocabulary: the predicted words, and one class for all others.
Not:  the language model itself (polyref.encode.training).

Equations, for a word w between l and r; c counts in the training text, N counts distinct ways to go on:

    p(w | l, r) = (c(l, w, r) - D) / c(l, r)  +  left over (l, r) * q(w | l, r)
    q(w | l, r) ~ p(w | l)^a  p(w | r)^b  p(w)^c  s(w)^d        renormalised over all words
    p(w | l)    = (N(l, w, .) - D) / N(l, ., .)  +  left over (l) * s(w)          p(w | r) likewise
    s(w)        = N(., w) + N(w, .), p(w) = c(w), both discounted and interpolated with the uniform distribution

Discounts D depend on the count (1, 2, 3 or more) and on how often the context occurs, exponents a to d on how often l
and r do. All are tuned on a part of the training text, and the counts are then taken again from all of it. Neighbours
outside the predicted words are read as the unknown word: to keep them as themselves was no better.

`python -m benchmarks.count_model FILES... --without FILE --cutoff 3` prints the table, with weaker models beside it.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from benchmarks.table import Table
from polyref.encode.corpus import TrainingText, TrainSettings, read_corpus, read_sentences
from polyref.text import TextSettings

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

TUNING_SHARE = 0.03
SEED = 1
ROUNDS = 8
TOTALS = np.array([1, 2, 4, 10, 50, 500])  # contexts of one discount: those that occur from so often on
FREQUENCIES = np.array([10, 100, 1000, 10_000])  # neighbours of one exponent
PLAIN_EXPONENTS = np.array([1.0, 1.0, -1.0, 0.0])  # p(w | l) p(w | r) / p(w)
RIDGE = 5.0  # how strongly exponents are held to those, where there is little to tune on
TUNED_AT_LEAST = 20  # words, for a discount of their own
AT_ONCE = 64  # places


@dataclass(frozen=True)
class Gaps:
    """Each word of a text, and the two neighbours that it is predicted from; `boundary` stands for an end."""

    lefts: Ints
    words: Ints
    rights: Ints
    classes: int  # the predicted words and the unknown one

    @staticmethod
    def of(text: TrainingText, predicted: int) -> Gaps:
        columns = []
        for rows in text.by_length.values():
            # sentences x words -> sentences x (words + 2)
            edged = np.pad(np.minimum(rows, predicted), ((0, 0), (1, 1)), constant_values=predicted + 1)
            columns.append(np.stack([edged[:, :-2], edged[:, 1:-1], edged[:, 2:]]).reshape(3, -1))
        return Gaps(*np.concatenate(columns, 1).astype(np.int64), predicted + 1)

    @property
    def neighbours(self) -> int:
        return self.classes + 1  # the boundary

    @property
    def pairs(self) -> Ints:
        return self.lefts * self.neighbours + self.rights

    def distinct(self) -> Gaps:
        kinds = np.unique(self.pairs * self.classes + self.words)
        pairs, words = np.divmod(kinds, self.classes)
        return Gaps(pairs // self.neighbours, words, pairs % self.neighbours, self.classes)


@dataclass(frozen=True)
class Discounted:
    """Words by context, by absolute discounting: what discounts leave over goes to a lower distribution."""

    classes: int
    events: Ints  # context * classes + word, sorted
    counts: Ints
    contexts: Ints  # sorted
    starts: Ints  # where a context's events begin, and the end
    seen: Ints  # contexts x 3: how many words it has once, twice, more often
    totals: Ints
    discounts: Floats  # classes of totals x 3

    @staticmethod
    def of(contexts: Ints, words: Ints, classes: int) -> Discounted:
        events, counts = np.unique(contexts * classes + words, return_counts=True)
        known, starts = np.unique(events // classes, return_index=True)
        seen = [np.add.reduceat((np.minimum(counts, 3) == often).astype(np.int64), starts) for often in (1, 2, 3)]
        return Discounted(
            classes, events, counts, known, np.append(starts, len(events)), np.stack(seen, 1),
            np.add.reduceat(counts, starts), np.tile([0.6, 0.9, 1.2], (len(TOTALS) + 1, 1)),
        )  # fmt: skip

    def rows(self, contexts: Ints, lower: Floats) -> Floats:
        """contexts -> their distributions, contexts x classes; `lower` is one distribution, or one a context."""
        place, known = _find(self.contexts, contexts)
        totals, discounts, left_over = self._left_over(contexts)
        dense = left_over[:, None] * lower
        sizes = np.where(known, self.starts[place + 1] - self.starts[place], 0)
        row = np.repeat(np.arange(len(contexts)), sizes)
        event = np.repeat(self.starts[place] - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
        counts = self.counts[event]
        kept = counts - discounts[row, np.minimum(counts, 3) - 1]
        dense[row, self.events[event] % self.classes] += kept / totals[row]
        return dense

    def at(self, contexts: Ints, words: Ints, lower: Floats) -> Floats:
        """What `rows` has for one word each; `lower` is what the lower distribution gives to it."""
        return self.own(contexts, words) + self._left_over(contexts)[2] * lower

    def own(self, contexts: Ints, words: Ints) -> Floats:
        """The part of `at` that is the context's own."""
        totals, discounts, _ = self._left_over(contexts)
        place, known = _find(self.events, contexts * self.classes + words)
        counts = self.counts[place]
        discount = discounts[np.arange(len(contexts)), np.minimum(counts, 3) - 1]
        return np.where(known, counts - discount, 0) / np.maximum(totals, 1)

    def _left_over(self, contexts: Ints) -> tuple[Ints, Floats, Floats]:
        """The totals of some contexts, their discounts, and the share left over: all, where nothing was seen."""
        place, known = _find(self.contexts, contexts)
        totals = np.where(known, self.totals[place], 0)
        discounts = self.discounts[_bucket(totals, TOTALS)]
        shares = (self.seen[place] * discounts).sum(1) / np.maximum(totals, 1)
        return totals, discounts, np.where(known, shares, 1.0)

    def tuned(self, contexts: Ints, words: Ints, lower: Floats, weights: Floats) -> Discounted:
        """With discounts that predict the words best; from 0 to the count itself, so nothing falls below 0."""
        place, known = _find(self.contexts, contexts)
        buckets = _bucket(np.where(known, self.totals[place], 0), TOTALS)
        discounts = self.discounts.copy()
        for bucket in range(1, len(discounts)):
            chosen = buckets == bucket
            if chosen.sum() >= TUNED_AT_LEAST:
                asked = (values[chosen] for values in (contexts, words, lower, weights))
                discounts[bucket] = self._best_discounts(bucket, *asked)
        return replace(self, discounts=discounts)

    def _best_discounts(self, bucket: int, contexts: Ints, words: Ints, lower: Floats, weights: Floats) -> Floats:
        place, _ = _find(self.contexts, contexts)
        event, known = _find(self.events, contexts * self.classes + words)
        counts = np.where(known, self.counts[event], 0)
        shares = self.seen[place] / self.totals[place][:, None] * lower[:, None]  # words x 3
        # The probability is linear in the discounts: what there is without them, and what each adds or takes.
        plain = counts / self.totals[place]
        slopes = shares - (np.minimum(counts, 3)[:, None] == [1, 2, 3]) / self.totals[place][:, None]
        best = self.discounts[bucket].copy()
        for _ in range(3):
            for often in range(3):
                tries = np.linspace(0, 1, 41)[1:] * (often + 1)
                others = plain + slopes @ np.where(np.arange(3) == often, 0, best)
                gains = [weights @ np.log(others + slopes[:, often] * discount) for discount in tries]
                best[often] = tries[np.argmax(gains)]
        return best


@dataclass(frozen=True)
class CountModel:
    """p(word | left, right); the equations are above."""

    word: Floats  # p(w)
    spread: Floats  # s(w)
    left: Discounted
    right: Discounted
    both: Discounted
    left_frequency: Ints
    right_frequency: Ints
    exponents: Floats  # pairs of classes of frequencies x 4

    @staticmethod
    def of(gaps: Gaps, *, continuation: bool = True) -> CountModel:
        """Counts, with discounts and exponents that are not tuned yet. `continuation`: count N below the top, not c."""
        lower = gaps.distinct() if continuation else gaps
        beside = [np.unique(side * gaps.classes + gaps.words) % gaps.classes for side in (gaps.lefts, gaps.rights)]
        return CountModel(
            _unigram(gaps.words, gaps.classes),
            _unigram(np.concatenate(beside), gaps.classes),
            Discounted.of(lower.lefts, lower.words, gaps.classes),
            Discounted.of(lower.rights, lower.words, gaps.classes),
            Discounted.of(gaps.pairs, gaps.words, gaps.classes),
            np.bincount(gaps.lefts, minlength=gaps.neighbours),
            np.bincount(gaps.rights, minlength=gaps.neighbours),
            np.tile(PLAIN_EXPONENTS, ((len(FREQUENCIES) + 1) ** 2, 1)),
        )

    def counted_from(self, gaps: Gaps, *, continuation: bool = True) -> CountModel:
        """The same discounts and exponents, other counts."""
        new = CountModel.of(gaps, continuation=continuation)
        left = replace(new.left, discounts=self.left.discounts)
        right = replace(new.right, discounts=self.right.discounts)
        both = replace(new.both, discounts=self.both.discounts)
        return replace(new, left=left, right=right, both=both, exponents=self.exponents)

    def probabilities(self, lefts: Ints, rights: Ints) -> Floats:
        """places x classes: the whole distribution in each place."""
        lower = _softmax(self.exponents[self.bucket(lefts, rights)], self._logarithms(lefts, rights))
        return self.both.rows(lefts * len(self.left_frequency) + rights, lower)

    def of_words(self, gaps: Gaps) -> Floats:
        """The probability of each word of a text."""
        found = np.empty(len(gaps.words))
        for places in _parts(len(found)):
            rows = self.probabilities(gaps.lefts[places], gaps.rights[places])
            found[places] = rows[np.arange(len(rows)), gaps.words[places]]
        return found

    def product(self, gaps: Gaps, weights: Floats) -> tuple[Floats, Floats, Floats]:
        """q of each word; and by bucket, slope and curvature of the weighted log-likelihood over the exponents."""
        found = np.empty(len(gaps.words))
        slopes = np.zeros(self.exponents.shape)
        curvatures = np.zeros((*self.exponents.shape, self.exponents.shape[1]))
        for places in _parts(len(found)):
            buckets, words = self.bucket(gaps.lefts[places], gaps.rights[places]), gaps.words[places]
            logarithms = self._logarithms(gaps.lefts[places], gaps.rights[places])  # places x 4 x classes
            q = _softmax(self.exponents[buckets], logarithms)
            every = np.arange(len(words))
            found[places] = q[every, words]
            weighted = logarithms * q[:, None]
            means = weighted.sum(2)
            covariances = weighted @ logarithms.transpose(0, 2, 1) - means[:, :, None] * means[:, None]
            np.add.at(slopes, buckets, weights[places, None] * (logarithms[every, :, words] - means))
            np.add.at(curvatures, buckets, weights[places, None, None] * covariances)
        return found, slopes, curvatures

    def bucket(self, lefts: Ints, rights: Ints) -> Ints:
        left = _bucket(self.left_frequency[lefts], FREQUENCIES)
        return left * (len(FREQUENCIES) + 1) + _bucket(self.right_frequency[rights], FREQUENCIES)

    def _logarithms(self, lefts: Ints, rights: Ints) -> Floats:
        found = np.empty((len(lefts), 4, len(self.word)))
        found[:, 0], found[:, 1] = self.left.rows(lefts, self.spread), self.right.rows(rights, self.spread)
        found[:, 2], found[:, 3] = self.word, self.spread
        return np.log(found, out=found)


def fit(training: TrainingText, predicted: int) -> CountModel:
    """Tune on a part of the training text with the counts of the rest, then count all of it."""
    rest, part = (Gaps.of(text, predicted) for text in split(training))
    return tune(CountModel.of(rest), part).counted_from(Gaps.of(training, predicted))


def tune(model: CountModel, part: Gaps, *, together: bool = True) -> CountModel:
    """By turns: where the product is what predicts (weights, as in EM), its exponents a Newton step further, and
    discounts that fit it. Without `together`, neighbours predict only apart, by the product."""
    weights = np.ones(len(part.words))
    best, highest = model, -math.inf
    for step in range(ROUNDS):
        if step in (0, 2):  # the weights hardly change later on
            model = _tune_sides(model, part, weights)
        q, slopes, curvatures = model.product(part, weights)
        found = q
        if together:
            model = replace(model, both=model.both.tuned(part.pairs, part.words, q, np.ones(len(q))))
            found = model.both.at(part.pairs, part.words, q)
            weights = 1 - model.both.own(part.pairs, part.words) / found
        if (reached := float(np.log(found).mean())) > highest:
            best, highest = model, reached
        towards_plain = RIDGE * (PLAIN_EXPONENTS - model.exponents)
        steps = np.linalg.solve(curvatures + RIDGE * np.eye(4), (slopes + towards_plain)[:, :, None])[:, :, 0]
        model = replace(model, exponents=model.exponents + steps)
    return best


def _tune_sides(model: CountModel, part: Gaps, weights: Floats) -> CountModel:
    spread = model.spread[part.words]
    left = model.left.tuned(part.lefts, part.words, spread, weights)
    return replace(model, left=left, right=model.right.tuned(part.rights, part.words, spread, weights))


def count_perplexity(training: TrainingText, validation: TrainingText, predicted: int) -> float:
    return perplexity(fit(training, predicted).of_words(Gaps.of(validation, predicted)))


def perplexity(probabilities: Floats) -> float:
    return math.exp(-np.log(probabilities).mean())


def split(text: TrainingText, share: float = TUNING_SHARE) -> tuple[TrainingText, TrainingText]:
    """Sentences to count and sentences to tune on, drawn."""
    draw = np.random.default_rng(SEED)
    chosen = {length: draw.random(len(rows)) < share for length, rows in text.by_length.items()}
    if not any(rows.any() for rows in chosen.values()):
        raise ValueError("too few sentences to tune on")
    return _sentences(text, {length: ~rows for length, rows in chosen.items()}), _sentences(text, chosen)


def variants(training: TrainingText, validation: TrainingText, predicted: int) -> dict[str, Floats]:
    """The probability of each validation word, by weaker models and by the whole one."""
    rest, part = (Gaps.of(text, predicted) for text in split(training))
    everything, judged = Gaps.of(training, predicted), Gaps.of(validation, predicted)
    apart = tune(CountModel.of(rest, continuation=False), part, together=False)
    counted = apart.counted_from(everything, continuation=False)
    linear = CountModel.of(rest)
    linear = _tune_sides(linear, part, evenly := np.ones(len(part.words)))
    shares = mixture(linear, part)
    linear = replace(linear, both=linear.both.tuned(part.pairs, part.words, mixed(linear, part, shares), evenly))
    linear = linear.counted_from(everything)
    sides = _sides(counted, judged)
    return {
        "unigram": counted.word[judged.words],
        "left neighbour": sides[:, 0],
        "right neighbour": sides[:, 1],
        "both apart, linear mixture": mixed(counted, judged, mixture(apart, part)),
        "both apart, product": counted.product(judged, np.ones(len(judged.words)))[0],
        "together, over a linear mixture": linear.both.at(judged.pairs, judged.words, mixed(linear, judged, shares)),
        "together, over a product": tune(CountModel.of(rest), part).counted_from(everything).of_words(judged),
    }


def mixture(model: CountModel, part: Gaps) -> Floats:
    """Shares of left, right and unigram, buckets x 3, by EM."""
    sides, buckets = _sides(model, part), model.bucket(part.lefts, part.rights)
    shares = np.full((len(model.exponents), 3), 1 / 3)
    for _ in range(30):
        owed = shares[buckets] * sides
        counts = np.ones(shares.shape)  # so that none is 0
        np.add.at(counts, buckets, owed / owed.sum(1, keepdims=True))
        shares = counts / counts.sum(1, keepdims=True)
    return shares


def mixed(model: CountModel, gaps: Gaps, shares: Floats) -> Floats:
    return (shares[model.bucket(gaps.lefts, gaps.rights)] * _sides(model, gaps)).sum(1)


def _sides(model: CountModel, gaps: Gaps) -> Floats:
    """Each word by its left neighbour, by its right one, by none: words x 3."""
    spread = model.spread[gaps.words]
    left, right = model.left.at(gaps.lefts, gaps.words, spread), model.right.at(gaps.rights, gaps.words, spread)
    return np.stack([left, right, model.word[gaps.words]], 1)


def _unigram(words: Ints, classes: int) -> Floats:
    nowhere = np.zeros_like(words)
    return Discounted.of(nowhere, words, classes).rows(nowhere[:1], np.full(classes, 1 / classes))[0]


def _softmax(exponents: Floats, logarithms: Floats) -> Floats:
    """The product of experts: places x experts, places x experts x classes -> places x classes."""
    scores = (exponents[:, None] @ logarithms)[:, 0]
    raised = np.exp(scores - scores.max(1, keepdims=True))
    return raised / raised.sum(1, keepdims=True)


def _find(known: Ints, wanted: Ints) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Where numbers stand in a sorted array, and whether they do; a place to read from in any case."""
    place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return place, known[place] == wanted


def _bucket(counts: Ints, edges: Ints) -> Ints:
    return np.searchsorted(edges, counts, side="right")


def _parts(count: int) -> list[slice]:
    return [slice(start, start + AT_ONCE) for start in range(0, count, AT_ONCE)]


def _sentences(text: TrainingText, chosen: dict[int, npt.NDArray[np.bool_]]) -> TrainingText:
    return TrainingText(text.words, {n: rows[chosen[n]] for n, rows in text.by_length.items() if chosen[n].any()})


def _in_file(text: TrainingText, path: str) -> npt.NDArray[np.bool_]:
    """Which words of a text stand in sentences of a file."""
    found = read_sentences([path], "references", TextSettings())
    sentences = [tuple(text.words[word] for word in row) for rows in text.by_length.values() for row in rows]
    return np.repeat([sentence in found for sentence in sentences], [len(sentence) for sentence in sentences])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.count_model", description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", metavar="FILE", help="text, or data sets")
    parser.add_argument("--without", action="append", default=[], metavar="FILE", help="sentences to leave out")
    parser.add_argument("--cutoff", type=int, default=3, help="how often a predicted word occurs")
    settings = parser.parse_args(arguments)
    corpus = read_corpus(settings.files, settings.without, TrainSettings(cutoff=settings.cutoff), None)
    predicted = corpus.vocabulary.predicted
    parts = [_in_file(corpus.validation, path) for path in settings.files]
    rows = [
        [name, *(f"{perplexity(found[part]):.2f}" if part.any() else "-" for part in [parts[0] | True, *parts])]
        for name, found in variants(corpus.training, corpus.validation, predicted).items()
    ]
    words = f"{corpus.training.tokens:,} words to count, {corpus.validation.tokens:,} to judge by"
    remark = f"{words}; {predicted:,} can be predicted. Tuned on {TUNING_SHARE:.0%} of the training sentences."
    print(Table("Perplexity of count models", ["", "all", *settings.files], rows, [remark]).markdown())


if __name__ == "__main__":
    main()
