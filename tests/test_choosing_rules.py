"""The rules for choosing and their scores, on made-up text; the data sets are not needed."""

from collections import Counter

import numpy as np
import pytest

from benchmarks.choosing import measures as m
from benchmarks.choosing import rules as r
from benchmarks.choosing.corpus import EDGE, FRAME, GAP, Corpus, frames, parts, runs, surprise
from benchmarks.choosing.evaluate import bad_kept, good_lost, interval, tables
from benchmarks.choosing.items import Item, Label
from benchmarks.choosing.left import Left, candidates, choose, slot_faults, word_faults
from polyref import Example, Lattice, Reference
from polyref.lattice import SearchSettings

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


def case(sentence: str, *references: str, drop: float | None = None, **more) -> r.Case:
    return r.Case(setting(*(references or REFERENCES), **more), tuple(sentence.split()), drop)


# -- the file ---------------------------------------------------------------------------------------------------------


def test_words_are_compared_without_hyphens_and_marks():
    assert parts("family-friendly") == ("family", "friendly")
    assert parts("--") == parts(".") == ()


def test_runs_and_frames_see_both_edges():
    assert runs(["a", "b"], 3) == [(EDGE, "a", "b"), ("a", "b", EDGE)]
    assert frames(["the", "old", "mill", "is", "shut", "."], COMMON) == [
        (EDGE, "the", GAP, "is", GAP),
        ("the", GAP, "is", GAP, "."),
        (GAP, "is", GAP, ".", EDGE),
    ]
    assert all(len(frame) == FRAME for frame in CORPUS.frames)


def test_alternatives_are_learned_from_the_file():
    assert CORPUS.exclusion("cheap", "inexpensive") > m.ALTERNATIVES
    assert CORPUS.lift("cheap", "inexpensive") > m.LIFT
    assert CORPUS.exclusion("cheap", "pub") < m.ALTERNATIVES
    assert CORPUS.exclusion("cheap", "unknown") == CORPUS.lift("cheap", "unknown") == 0


def test_an_example_does_not_attest_its_own_runs():
    own = frozenset([("dear", "inn")])
    assert CORPUS.attested["dear", "inn"] == 2
    assert CORPUS.others_with(("dear", "inn"), own) == 1
    assert CORPUS.others_with(("dear", "inn"), frozenset()) == 2


def test_what_is_new_surprises_less_in_a_small_file():
    assert surprise([1, 1, 1]) < surprise([1, 5, 5]) < surprise([50, 50])


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


def test_runs_of_words_are_seen_in_the_references_or_elsewhere():
    assert m.unseen(setting(*REFERENCES), REFERENCES[0].split(), 3) == 0
    assert m.unseen(setting(*REFERENCES), ["is", "a", "dear", "inn", "."], 3) == 1  # how it begins
    assert m.unseen(setting(*REFERENCES), ["old", "mill", "river"], 3) == 3


def test_pairs_of_words_that_no_reference_brings_together_count():
    assert m.new_pairs(setting("red boat", "blue lake"), Counter(["red", "boat"])) == 0
    assert m.new_pairs(setting("red boat", "blue lake"), Counter(["red", "lake"])) == 0.5


def test_the_drop_sums_what_words_lose_against_where_they_come_from():
    gold = [np.array([-1.0, -1.0]), np.array([-3.0, -2.0])]
    assert m.drop(np.array([-2.0, -1.0]), gold, [(0, 0), (1, 1)]) == 1.0  # a word that gains makes up for nothing


def test_the_risk_without_a_model_is_a_lower_bound():
    sentence = "the bell is a dear river pub ."
    assert case(sentence).risk <= case(sentence, drop=2.0).risk < case(sentence, drop=40.0).risk
    assert case(sentence, drop=40.0).risk == case(sentence, drop=400.0).risk


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


# -- what is left -----------------------------------------------------------------------------------------------------


def test_words_come_with_the_places_that_they_come_from():
    lattice = Lattice.from_references(REFERENCES)
    found = lattice.search(10, SearchSettings())
    for words, places in candidates(lattice, found):
        assert [lattice.tokens[k].words[at] for k, at in places] == list(words)


def test_the_best_that_pass_are_chosen():
    texts = [Reference(text) for text in REFERENCES]
    example = Example("1", "", tuple(texts))
    lattice = Lattice.from_references(REFERENCES)
    everything = choose(lattice, example, CORPUS, None, None)
    left = choose(lattice, example, CORPUS, r.RULES["content, form"], None)
    assert 0 < len(left.chosen) < len(everything.chosen)
    assert left.depth <= left.judged <= left.sentences
    assert [words for words in everything.chosen if words in left.chosen] == left.chosen


def test_faults_are_told_by_slots_and_by_words():
    gold = (("the", "mill", "is", "cheap"), ("cheap", "is", "the", "mill"))
    chosen = [("the", "mill", "is", "the", "mill"), ("it", "is", "cheap")]
    left = Left(2, chosen, 2, 2, 2, "name[The Mill], priceRange[cheap]", gold)
    assert slot_faults(left) == {"twice": 1, "lost": 2, "name": 1}
    assert word_faults(left) == {"twice": 1, "lost": 2}
