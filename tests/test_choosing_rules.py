"""The rules for choosing and their scores, on made-up text; the data sets are not needed."""

import numpy as np
import pytest

from benchmarks.choosing import measures as m
from benchmarks.choosing import rules as r
from benchmarks.choosing.corpus import Corpus, parts
from benchmarks.choosing.evaluate import bad_kept, good_lost, interval, tables
from benchmarks.choosing.items import Item, Label
from benchmarks.choosing.left import Left, choose, slot_faults, word_faults
from benchmarks.choosing.nested import area, by_set, by_tenths, judged, limit_for
from polyref import Example, Lattice, Reference
from polyref.encode import default_encoder
from polyref.judge import Usage
from polyref.judge.seams import LIMIT

REFERENCES = ("the old mill is a cheap pub by the river .", "by the river is a cheap pub called the old mill .")
# A file in which "cheap" and "inexpensive" are said of the same places, and never both.
FILE = [
    [
        f"the {name} is a cheap pub by the {place} .".split(),
        f"the {name} is an inexpensive pub by the {place} .".split(),
    ]
    for name in ("bell", "crown", "swan", "ship")
    for place in ("lake", "park", "road")
]
FILE += [[f"the {name} is a dear inn .".split(), f"a dear inn is the {name} .".split()] for name in ("fox", "hare")]
CORPUS = Corpus.of(FILE)
COMMON = frozenset(["the", "is", "a", "by"])


def setting(*references: str, corpus: Corpus = CORPUS, linked: frozenset = frozenset()) -> m.Setting:
    words = tuple([tuple(one.split()) for one in references])
    said = frozenset(part for one in words for word in one for part in parts(word))
    return m.Setting(words, linked, corpus, said - COMMON, said - COMMON)


def case(sentence: str, *references: str, risk: float | None = None, **more) -> r.Case:
    return r.Case(setting(*(references or REFERENCES), **more), tuple(sentence.split()), risk)


# -- the file ---------------------------------------------------------------------------------------------------------


def test_words_are_compared_without_hyphens_and_marks():
    assert parts("family-friendly") == ("family", "friendly")
    assert parts("--") == parts(".") == ()


def test_alternatives_are_learned_from_the_file():
    assert CORPUS.exclusion("cheap", "inexpensive") > m.ALTERNATIVES
    assert CORPUS.lift("cheap", "inexpensive") > m.LIFT
    assert CORPUS.exclusion("cheap", "pub") < m.ALTERNATIVES
    assert CORPUS.exclusion("cheap", "unknown") == CORPUS.lift("cheap", "unknown") == 0


# -- content ----------------------------------------------------------------------------------------------------------


def test_a_word_too_often_is_found():
    assert r.not_repeated(case("the old mill is a cheap pub ."))
    assert not r.not_repeated(case("the old mill is a cheap pub called the old mill ."))


@pytest.mark.parametrize("word", ["cheaply", "inexpensive", "low-cost"])
def test_words_that_count_as_one_are_said_twice(word):
    linked = frozenset([frozenset(["cheap", "low"])])
    references = (REFERENCES[0], f"the old mill is {word} .")
    assert not r.not_twice(case(f"the old mill is a cheap pub that is {word} .", *references, linked=linked))
    assert r.not_twice(case(f"the old mill is {word} .", *references, linked=linked))


def test_what_a_gold_reference_says_twice_may_be_said_twice():
    assert r.not_twice(case("a pub , a cheap pub", "a pub , a cheap pub", "a pub"))


def test_what_all_references_say_must_be_there():
    assert r.all_shared_words(case("the old mill is a cheap pub by the river ."))
    assert not r.all_shared_words(case("by the river is a cheap pub ."))
    assert not r.nothing_lost(case("by the river is a cheap pub ."))
    references = ("the bell is cheap", "the bell is inexpensive")
    assert r.nothing_lost(case("the bell is inexpensive", *references))
    assert not r.nothing_lost(case("the bell is", *references))


def test_a_sentence_covers_as_much_as_the_gold_reference_that_covers_least():
    references = ("red boat , blue lake", "red boat on a lake", "a blue lake and boat")
    assert r.covers_enough(case("red boat lake", *references))
    assert not r.covers_enough(case("boat", *references))


def test_contrasts_and_negations_are_those_of_the_references():
    assert not r.no_contrast(case("two dogs and three dogs", "two dogs", "three dogs"))
    assert r.no_contrast(case("two dogs and three dogs", "two dogs and three cats", "dogs"))
    assert not r.negated_as_gold(case("it is not bad and not good", "it is not good", "it is not bad"))
    assert not r.negated_as_gold(case("it is good", "it is not good", "it isn't good"))
    assert m.negates("non-smoking") and not m.negates("nonsense")


# -- form -------------------------------------------------------------------------------------------------------------


def test_brackets_and_quotes_close_as_in_the_references():
    assert not r.balanced(case("a ( b", "a ( b )", "a b"))
    assert r.balanced(case("a ( b", "a ( b", "a b"))
    assert not r.balanced(case('" a b', '" a " b'))


def test_other_marks_make_no_new_sentence():
    assert not r.new_without_marks(case("the bell , is cheap", "the bell is cheap ."))
    assert r.new_without_marks(case("the bell is", "the bell is cheap ."))


# -- seams ------------------------------------------------------------------------------------------------------------


def test_the_seams_pass_up_to_the_limit_and_where_nobody_asked():
    sentence = "by the river is a cheap pub the old mill ."
    kept = [r.RULES[r.CHOSEN](case(sentence, risk=risk)) for risk in (None, 0.0, LIMIT, LIMIT + 0.0001)]
    assert kept == [True, True, True, False]


def test_soft_links_are_read_off_the_lattice():
    lattice = Lattice.from_references(["a dog runs", "a dog jumps"])
    assert r.linked_words(lattice) == frozenset()
    assert r.linked_words(lattice.with_states([1, 2, 3, 1, 2, 3])) == {frozenset(["runs", "jumps"])}
    found = r.setting_of(lattice, CORPUS, frozenset(["a"]))
    assert found.content == {"dog", "runs", "jumps"}


# -- scores -----------------------------------------------------------------------------------------------------------


def test_scores_count_the_bad_among_the_kept_and_the_good_among_the_lost():
    kept = np.array([True, True, False, False])
    bad, good = np.array([True, False, True, False]), np.array([False, True, False, True])
    assert (bad_kept(kept, bad), good_lost(kept, good)) == (0.5, 0.5)
    assert (bad_kept(~kept & kept, bad), good_lost(kept, ~good & good)) == (0, 0)
    low, high = interval(bad_kept, kept, bad)
    assert 0 <= low <= 0.5 <= high <= 1


def test_the_tables_tell_rules_groups_and_causes():
    labels = [Label("bad", ("twice",)), Label("good")]
    items = [Item("coco", "1", "develop", "hard", (), "", 50.0, (), {"settled": label}) for label in labels]
    cases = [case("the old mill is the old mill"), case(REFERENCES[0])]
    rules = {"once": r.not_repeated, "all": lambda one: True}
    by_rule, by_group, by_cause = tables(items, cases, rules, "all")
    assert [row[:2] for row in by_rule.rows] == [["once", "1 of 2"], ["all", "2 of 2"]]
    assert [row[0] for row in by_group.rows] == ["coco", "hard"]
    assert by_cause.rows == [["twice", "1", "1", "50.0%"]]


def items_of(*labels: str) -> list[Item]:
    sets = ("coco", "asset")
    return [
        Item(sets[n % 2], str(n), "develop", "hard", (), "", 50.0, (), {"settled": Label(one)})  # type: ignore[arg-type]
        for n, one in enumerate(labels)
    ]


def test_the_limit_counts_what_was_lost_before():
    risk, good = np.array([1.0, 2.0, 3.0, 4.0, 9.0]), np.ones(5, np.bool_)
    passed = np.array([True, True, True, True, False])
    assert limit_for(risk, passed, good, 0.4) == 3.0
    assert limit_for(risk, passed, good, 0.2) == limit_for(risk, passed, good, 0.1) == 4.0
    assert area(np.array([1.0, 2.0, 2.0]), np.array([False, False, True]), np.array([True, True, False])) == 0.75


def test_numbers_are_picked_without_the_items_that_are_judged():
    """In either set another number tells bad from good: each is judged by the one that misleads there."""
    items = items_of(*["good", "good", "bad", "bad"] * 5)
    bad = np.array([one.labels["settled"].label == "bad" for one in items])
    coco = np.array([one.set == "coco" for one in items])
    found = {(1, 0.5, 3.0): np.where(coco, bad, ~bad) * 1.0, (2, 0.5, 3.0): np.where(coco, ~bad, bad) * 1.0}
    kept, picked = judged(by_set(items), ~bad | bad, found, bad, ~bad, 0.0)
    assert picked[0] == (2, 0.5, 3.0) and picked[3] == (1, 0.5, 3.0)
    assert bad_kept(kept, bad) == 1.0


def test_tenths_part_the_items_and_mix_sets_and_labels():
    items = items_of(*["good", "good", "bad", "bad"] * 10)
    parts = by_tenths(items, seed=1)
    assert (np.sum(parts, axis=0) == 1).all()
    assert all({(items[n].set, items[n].labels["settled"].label) for n in np.flatnonzero(one)} for one in parts)
    assert [int(one.sum()) for one in parts] == [4] * 10


# -- what is left -----------------------------------------------------------------------------------------------------


def test_the_best_that_pass_are_chosen():
    texts = [Reference(text) for text in REFERENCES]
    example = Example("1", "", tuple(texts))
    lattice = Lattice.from_references(REFERENCES)
    everything = choose(lattice, example, CORPUS, Usage(), None, None)
    left = choose(lattice, example, CORPUS, Usage(), r.RULES["content, form"], None)
    fewer = choose(lattice, example, CORPUS, Usage(), r.RULES[r.CHOSEN], default_encoder())
    assert set(fewer.chosen) < set(left.chosen)
    assert 0 < len(left.chosen) < len(everything.chosen)
    assert left.depth <= left.judged <= left.sentences
    assert [words for words in everything.chosen if words in left.chosen] == left.chosen


def test_faults_are_told_by_slots_and_by_words():
    gold = (("the", "mill", "is", "cheap"), ("cheap", "is", "the", "mill"))
    chosen = [("the", "mill", "is", "the", "mill"), ("it", "is", "cheap")]
    left = Left(2, chosen, 2, 2, 2, "name[The Mill], priceRange[cheap]", gold)
    assert slot_faults(left) == {"twice": 1, "lost": 2, "name": 1}
    assert word_faults(left) == {"twice": 1, "lost": 2}
