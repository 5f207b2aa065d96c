"""How else a text could go on: against a slow count over the reference sentences themselves."""

from __future__ import annotations

import pytest

from polyref.data import sample_examples
from polyref.errors import InputError
from polyref.example import KeptLattice
from polyref.lattice import Lattice, keep
from polyref.lattice.branches import Branch, Branches
from polyref.text import TextSettings, tokenize

REFERENCES = [
    "A small ferry crosses the bay at sunset.",
    "A white ferry crosses the calm bay.",
    "A small boat crosses the bay",
    "A small ferry crosses the bay at sunset.",
]


def branches_of(references: list[str], **text) -> Branches:
    return Branches(references, keep(Lattice.from_references(references, text=TextSettings(**text))))


def test_the_words_that_leave_a_state_are_counted_by_reference():
    assert branches_of(REFERENCES).of(REFERENCES[0]) == [
        Branch(1, (" small", " white"), (3, 1)),
        Branch(7, (" ferry", " boat"), (3, 1)),  # "white ferry" comes by here as well
        Branch(25, (" bay", " calm"), (3, 1)),
        Branch(29, (" at", ".", ""), (2, 1, 1)),
    ]


def test_a_new_sentence_has_the_branches_of_the_states_that_it_goes_through():
    found = branches_of(REFERENCES).of("A white ferry crosses the bay")
    assert found[0] == Branch(1, (" white", " small"), (1, 3))
    assert found[-1] == Branch(29, ("", " at", "."), (1, 2, 1))


def test_other_ways_are_written_as_they_would_be_there():
    references = ["It costs £20", "It costs £30"]
    assert branches_of(references).of(references[0]) == [Branch(10, ("20", "30"), (1, 1))]
    # "it" and "they" are linked, and one of them opens a sentence.
    kept = KeptLattice(((1, 2, 3, 4, 5), (3, 4, 5)), "words", True)
    found = Branches(["We stay. It rains", "So they rain"], kept)
    assert found.of("So they rain")[1].texts == (" they", " it")


def test_a_text_has_branches_as_far_as_it_is_a_path():
    lattice = branches_of(REFERENCES)
    assert [one.start for one in lattice.of("A small ferry sinks in the bay at sunset.")] == [1, 7]
    assert lattice.of("Nothing like that") == []
    assert [one.start for one in lattice.of("A small ferry crosses")] == [1, 7]  # it does not end there
    assert branches_of(["one reference alone"]).of("one reference alone") == []


def test_spaces_around_a_text_stay_its_own():
    text = "  A  small ferry crosses the bay \n"
    found = [(one.start, one.texts[0]) for one in branches_of(REFERENCES).of(text)]
    assert found == [(3, "  small"), (10, " ferry"), (28, " bay"), (32, " \n")]


def test_words_are_those_that_the_lattice_was_made_of():
    references = ["一只猫坐在垫子上", "那只猫在垫子上睡觉"]
    found = branches_of(references, tokenizer="characters").of(references[0])
    assert found[0] == Branch(0, ("一", "那"), (1, 1))
    assert branches_of(references).of(references[0]) == [Branch(0, tuple(references), (1, 1))]


def test_states_that_are_of_other_references_are_refused():
    with pytest.raises(InputError, match=r"does not fit its references.*expand again and keep lattices"):
        Branches(["a b"], KeptLattice(((1, 2, 3),), "words", True))


def slow_branches(references: list[str], kept: KeptLattice, words: tuple[str, ...]) -> list[dict[str, int]]:
    """For each word of a path and for its end, the next words by how many references have them.

    By trying every way in which the beginning can be put together from single steps of the references.
    """
    tokens = [tokenize(reference, TextSettings("words", True)).words for reference in references]
    steps = [
        (before, word, behind)
        for said, states in zip(tokens, kept.states, strict=True)
        for before, word, behind in zip((0, *states), (*said, ""), (*states, -1), strict=True)
    ]
    found = []
    for place in range(len(words) + 1):
        reached = [0]
        for word in words[:place]:
            reached = [behind for state in reached for before, said, behind in steps if (before, said) == (state, word)]
            reached = list(set(reached))
        found.append({})
        for before, said, _ in steps:
            if before in reached:
                found[-1][said] = found[-1].get(said, 0) + 1
    return found


@pytest.mark.parametrize("number", range(6))
def test_branches_are_those_of_a_slow_count(number):
    references = [reference.text for reference in list(sample_examples())[number].references]
    references.append(references[0])
    lattice = Lattice.from_references(references)
    kept = keep(lattice)
    branches = Branches(references, kept)
    for text in [*references, *[one.text for one in lattice.best(10)], *[one.text for one in lattice.sample(10)]]:
        words = tokenize(text, lattice.text).words
        slow = [ways for ways in slow_branches(references, kept, words) if len(ways) > 1]
        found = branches.of(text)
        assert [sorted(one.counts) for one in found] == [sorted(ways.values()) for ways in slow]
        for one, ways in zip(found, slow, strict=True):
            assert text[one.start :].startswith(one.texts[0])
            before = tokenize(text[: one.start], lattice.text).words
            for way, count in zip(one.texts, one.counts, strict=True):
                [*again, last] = tokenize(text[: one.start] + way, lattice.text).words if way.strip() else [*before, ""]
                assert (tuple(again), ways[last]) == (before, count)


@pytest.mark.parametrize("number", range(6))
def test_the_ways_are_all_next_words_of_sentences_that_begin_alike(number):
    references = [reference.text for reference in list(sample_examples())[number].references][:3]
    lattice = Lattice.from_references(references)
    following: dict[tuple[str, ...], set[str]] = {}
    for sentence in lattice.sentences():
        for place, word in enumerate((*sentence.words, "")):
            following.setdefault(sentence.words[:place], set()).add(word)
    branches = Branches(references, keep(lattice))
    for sentence in lattice.sample(20):
        expected = [following[sentence.words[:place]] for place in range(len(sentence.words) + 1)]
        assert [len(one.texts) for one in branches.of(sentence.text)] == [
            len(ways) for ways in expected if len(ways) > 1
        ]
