"""What holds for the best sentences under any rules, whether they are searched, listed or drawn."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from generated import Case, cases, searches
from hypothesis import assume, given
from hypothesis import strategies as st
from listed import Scores, Words

from polyref.lattice import CompiledEngine, Engine, Lattice, PlainEngine, Rule, Rules, SearchSettings
from polyref.lattice.plain.ranking import sentence_hash, word_hashes
from polyref.lattice.plain.rules import CAUSES, MARKS, NO_LIMIT, TWICE, Pieces

MakeLattice = Callable[..., Lattice]

LISTED = 600  # sentences of a lattice: here it is the test that lists them


@st.composite
def ruled(draw: st.DrawFn) -> tuple[Case, Rules]:
    """References with rules that hold for nothing in particular: gold references may break them, too."""
    case = draw(cases())
    size = len(set(" ".join(case.references).split()))
    words = st.lists(st.integers(0, size - 1), min_size=1, max_size=3).map(tuple)

    @st.composite
    def rule(draw: st.DrawFn) -> Rule:
        least = draw(st.sampled_from([0, 0, 1, 1, 2]))
        most = draw(st.sampled_from([NO_LIMIT, least, least + 1, 3 + least]))
        if draw(st.integers(0, 5)):
            return Rule(TWICE, least, most, draw(words))
        parity = draw(st.booleans())
        taking = () if parity else draw(st.one_of(st.just(()), words))
        return Rule(MARKS, least - 1, 1, draw(words), taking, parity)

    rules = tuple(draw(st.lists(rule(), max_size=4)))
    same = tuple(draw(st.sampled_from([-1, *range(word + 1)])) for word in range(size))
    same = tuple(-1 if word < 0 or same[word] < 0 else same[word] for word in same)  # the first of its kind
    shared = draw(st.lists(st.tuples(words, st.integers(1, 9)), max_size=3).map(tuple))
    return case, Rules(rules, same, shared)


class Everything:
    """All sentences that pass, sorted: by score, crossings, seeded hash, words; the first of each core."""

    def __init__(self, lattice: Lattice, rules: Rules, settings: SearchSettings):
        self.gold: list[Words] = lattice.numbering.references
        self.rules = rules
        scores, hashes = Scores(self.gold), word_hashes(lattice.numbering.vocabulary, settings.seed).tolist()
        listed = [tuple([lattice.automaton.word[arc] for arc in path]) for path in lattice.automaton.paths()]
        cores = {self.core(words) for words in self.gold}
        passing = [words for words in listed if words not in self.gold and self.core(words) not in cores]
        passing = [words for words in passing if self.keeps(words) and scores.is_admitted(words, settings)]

        def key(words: Words) -> tuple[int, int, Words]:
            return fewest_crossings(self.gold, words), sentence_hash(words, hashes), words

        best: dict[Words, Words] = {}
        for words in scores.best_first(passing, key):
            best.setdefault(self.core(words), words)
        self.best = list(best.values())

    def core(self, words: Words) -> Words:
        return tuple(self.rules.same[word] for word in words if self.rules.same[word] != -1)

    def keeps(self, words: Words) -> bool:
        counts = Counter(words)
        for rule in self.rules.rules:
            held = sum(counts[word] for word in rule.adding) - sum(counts[word] for word in rule.taking)
            held = held % 2 if rule.parity else held
            if held < rule.least or held > rule.most:
                return False
        return True


def fewest_crossings(references: Sequence[Words], words: Words) -> int:
    """By trying all ways to cut the sentence into pieces of references, both edges included."""
    edged = [(-1, *reference, -2) for reference in references]
    known = {text[k:end] for text in edged for k in range(len(text)) for end in range(k + 1, len(text) + 1)}
    sentence = (-1, *words, -2)
    fewest = [0]
    for end in range(1, len(sentence) + 1):
        fewest.append(min(fewest[k] + 1 for k in range(end) if sentence[k:end] in known))
    return fewest[-1] - 1


def with_rules(lattice: Lattice, rules: Rules) -> Lattice:
    lattice.rules = rules
    return lattice


@pytest.mark.usefixtures("way")
@given(ruled(), searches(), st.sampled_from([1, 2, 5, 20, 1000]))
def test_the_best_are_the_first_of_everything_that_passes(
    engine: Engine, lattice_of: MakeLattice, drawn: tuple[Case, Rules], settings: SearchSettings, size: int
) -> None:
    case, rules = drawn
    lattice = with_rules(lattice_of(engine, *case), rules)
    assume(lattice.count <= LISTED)
    everything = Everything(lattice, rules, settings)
    found = lattice.search(size, settings)
    assert list(map(tuple, lattice.numbered(found))) == everything.best[:size]
    assert found.crossings == [fewest_crossings(everything.gold, words) for words in everything.best[:size]]
    assert found.exact


@pytest.mark.compiled
@pytest.mark.usefixtures("way")
@given(
    ruled(),
    searches(node_budgets=(1, 5, 50, 100_000), tie_limits=(1, 3, 20, 100_000)),
    st.sampled_from([1, 3, 20, 100]),
)
def test_nobody_can_tell_the_engines_apart(
    compiled: CompiledEngine, lattice_of: MakeLattice, drawn: tuple[Case, Rules], settings: SearchSettings, size: int
) -> None:
    case, rules = drawn
    plain, fast = (
        with_rules(lattice_of(engine, *case), rules).search(size, settings) for engine in (PlainEngine(), compiled)
    )
    assert plain == fast


@pytest.mark.usefixtures("way")
@given(ruled(), searches(tie_limits=(1, 3, 8)), st.sampled_from([2, 10, 40]))
def test_drawn_ties_are_as_good_as_listed_ones(
    engine: Engine, lattice_of: MakeLattice, drawn: tuple[Case, Rules], settings: SearchSettings, size: int
) -> None:
    case, rules = drawn
    lattice = with_rules(lattice_of(engine, *case), rules)
    hurried = lattice.search(size, settings)
    listed = lattice.search(size, SearchSettings(settings.seed, settings.min_bleu))
    assert lattice.bleus(hurried)[:1] == lattice.bleus(listed)[:1]
    everything = Everything(lattice, rules, settings)
    sentences = list(map(tuple, lattice.numbered(hurried)))
    assert all(everything.keeps(words) for words in sentences)
    assert len({everything.core(words) for words in sentences}) == len(sentences)
    assert all(better >= worse for better, worse in pairwise(lattice.bleus(hurried)))


@given(ruled(), st.integers(0, 5))
def test_fresh_draws_keep_the_rules_and_no_core_comes_twice(
    engine: Engine, lattice_of: MakeLattice, drawn: tuple[Case, Rules], seed: int
) -> None:
    case, rules = drawn
    lattice = with_rules(lattice_of(engine, *case), rules)
    assume(lattice.count <= LISTED)
    everything = Everything(lattice, rules, SearchSettings(min_bleu=0))
    found = list(lattice.draws(random.Random(seed), min_bleu=0, tries=lattice.count))
    assert {everything.core(one.words) for one in found} == {everything.core(words) for words in everything.best}
    assert len(found) == len(everything.best)
    assert all(one.crossings == fewest_crossings(everything.gold, one.words) for one in found)


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6).map(tuple), min_size=1, max_size=4), st.data())
def test_crossings_are_the_fewest(references: list[Words], data: st.DataObject) -> None:
    known = sorted({word for reference in references for word in reference})
    sentence = tuple(data.draw(st.lists(st.sampled_from(known), min_size=1, max_size=9)))
    assert Pieces(references).crossings(sentence) == fewest_crossings(references, sentence)


def test_there_is_a_name_for_every_cause() -> None:
    assert len(CAUSES) == 4
