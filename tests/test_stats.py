"""Counts by hand, and the overlap of references against its definition."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyref.data import sample_examples
from polyref.example import JUDGEMENTS, Example, PseudoReference, Reference
from polyref.stats import Tally, statistics, word_overlap
from polyref.text import TextSettings


def example(id: str, *references: str, source: object = None, pseudo: tuple[PseudoReference, ...] = ()) -> Example:
    return Example(id, source, tuple(map(Reference, references)), pseudo)


EXAMPLES = [
    example("1", "A cat sleeps.", "a cat sleeps .", "the dog", source="eine Katze"),
    example("2", "the dog", source="ein Hund schläft"),
    example("3", "a b c d e", "a b c d e f", source={"image": 3}),
]


def test_everything_is_counted():
    found = statistics(EXAMPLES)
    assert found == {
        "examples": 3,
        "references": 6,
        "references_per_example": {
            "mean": 2.0,
            "least": 1,
            "most": 3,
            "examples_by_references": {"1": 1, "2": 1, "3": 1},
        },
        "distinct_references": 4,
        "identical_references": 1,
        "tokens_per_reference": {"tokens": 23, "mean": 3.83, "median": 4.0, "longest": 6},
        "vocabulary": {"words": 11, "seen_once": 1},
        "tokens_per_source": {"tokens": 5, "mean": 2.5, "median": 2.5, "longest": 3},
        "overlap": {
            "examples": 2,
            # One pair of three is equal in the first example; five words of six are shared in the third.
            "word_overlap": round((1 / 3 + 5 / 6) / 2, 4),
            "bleu": round(((100 + 100 + 0) / 3 + (81.87 + 75.98) / 2) / 2, 2),
            "bleu_zero": round((1 / 3) / 2, 4),
        },
        "pseudo_references": None,
    }


def test_case_and_tokenizer_are_settings():
    assert statistics(EXAMPLES, TextSettings(fold_case=False))["identical_references"] == 0
    assert statistics(EXAMPLES, TextSettings("whitespace"))["tokens_per_reference"]["tokens"] == 22


def test_pseudo_references_are_counted_apart_from_gold_ones():
    pseudo = (
        PseudoReference("a cat", 90.0),
        PseudoReference("the cat is", 80.0),
        PseudoReference("x", 100.0, repeat=True),
    )
    found = statistics([example("1", "a dog", pseudo=pseudo), example("2", "b")])
    assert found["references"] == 2
    assert found["pseudo_references"] == {
        "pseudo_references": 2,
        "repeats": 1,
        "examples": 1,
        "per_example": 1.0,
        "tokens_per_pseudo_reference": {"tokens": 5, "mean": 2.5, "median": 2.5, "longest": 3},
        "bleu": 85.0,
        "fluency": None,
        "content": None,
        "crossings": None,
        "risk": None,
    }


@pytest.mark.parametrize(
    ("name", "values", "mean"),
    [
        ("fluency", (-2.0, -2.5004, -9.0), -2.2502),
        ("content", (1.0, 0.5004, 0.0), 0.7502),
        ("crossings", (1, 2, 9), 1.5),
        ("risk", (0.0, 2.5004, 9.0), 1.2502),
    ],
)
def test_the_mean_of_a_judgement_is_over_the_pseudo_references_that_have_it_and_are_no_repeats(name, values, mean):
    pseudo = (
        PseudoReference("a", 90.0, **{name: values[0]}),
        PseudoReference("b", 80.0, **{name: values[1]}),
        PseudoReference("c", 70.0),
        PseudoReference("a", 90.0, repeat=True, **{name: values[2]}),
    )
    found = statistics([example("1", "d", pseudo=pseudo[:1]), example("2", "e", pseudo=pseudo[1:])])
    assert {key: found["pseudo_references"][key] for key in JUDGEMENTS} == {**dict.fromkeys(JUDGEMENTS), name: mean}


def test_single_references_have_no_overlap():
    found = statistics([example("1", "a"), example("2", "b")])
    assert found["overlap"] == {"examples": 0, "word_overlap": None, "bleu": None, "bleu_zero": None}


def test_nothing_at_all_is_counted_too():
    found = statistics([])
    assert (found["examples"], found["references_per_example"]["mean"], found["tokens_per_source"]) == (0, None, None)


WORDS = st.lists(st.sampled_from("abc"), min_size=1, max_size=9).map(tuple)


@given(st.lists(WORDS, min_size=2, max_size=5))
def test_overlap_lies_between_none_and_all(references):
    overlap = word_overlap(references)
    assert 0 <= overlap <= 1 + 1e-9
    if all(set(one) == set(other) for one, other in pairwise(references)):
        assert overlap == pytest.approx(1)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=9))
def test_the_median_is_the_middle(lengths):
    from statistics import median

    found = statistics([example(str(number), "w " * length) for number, length in enumerate(lengths)])
    assert found["tokens_per_reference"]["median"] == median(lengths)


def test_the_sample_is_as_it_is_described():
    found = statistics(sample_examples())
    assert (found["examples"], found["references"]) == (
        64,
        sum(len(example.references) for example in sample_examples()),
    )


def test_the_median_lattice_is_not_larger_than_the_largest():
    tally = Tally()
    tally.count(Example("1", "", (Reference("a"),)), [], sentences=338_688, exact=True, short=None)
    found = tally.summary()
    assert found["sentences_median"] == found["sentences_largest"] == "338688"
