"""The sizes of lattices against length: bins, sums, and what the page and the picture make of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.lattice_sizes.measuring import ADAPTIVE, ALIGNMENTS, HARD, WANTED, Measured, measure
from benchmarks.lattice_sizes.page import page, shown
from benchmarks.lattice_sizes.sums import ALL, Bin, Growth, Set, Summary, at_most, length_bins
from polyref import Example, Reference, WordVectors


def lattice(length: float = 10.0, sentences: int = 100, *bleus: float, references: int = 5) -> Measured:
    return Measured(length, references, sentences, bleus)


def made_up_set(name: str = "made up") -> Set:
    """As many lattices by each alignment, larger where references are longer."""
    lengths = [8 + n / 10 for n in range(60)]
    lattices = {
        alignment: [lattice(length, int(1.5**length) + n, 90.0 + n, 80.0) for length in lengths]
        for n, alignment in enumerate(ALIGNMENTS)
    }
    return Set(name, lattices, length_bins(lengths, 10))


# -- bins ---------------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(1, 60), min_size=1), st.integers(1, 20))
def test_every_length_is_in_exactly_one_bin_and_every_bin_holds_enough(lengths, least):
    bins = length_bins(lengths, least)
    assert all(sum(length in part for part in bins) == 1 for length in lengths)
    assert bins == [ALL] or all(sum(length in part for length in lengths) >= least for part in bins)


def test_bins_meet_at_whole_words_and_sparse_ends_are_joined():
    lengths = [8.5, *[9.5] * 15, *[10.0] * 15, *[11.9] * 15, 17.0]
    assert list(map(str, length_bins(lengths, 5))) == ["under 10", "10 to 11", "11 and more"]


def test_bins_are_wider_where_lengths_are_spread():
    lengths = [length + 0.5 for length in range(10, 34)] * 10
    assert list(map(str, length_bins(lengths, 10))) == [
        "under 12", "12 to 16", "16 to 20", "20 to 24", "24 to 28", "28 to 32", "32 and more"
    ]  # fmt: skip


def test_too_few_lengths_share_one_bin():
    assert length_bins([9.0, 12.0, 30.0], 25) == [ALL]


def test_a_bin_holds_its_lower_end_only():
    assert 10.0 in Bin(10, 11)
    assert 11.0 not in Bin(10, 11)


# -- sums ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("percent", "expected"), [(0, 1), (5, 1), (50, 5), (51, 6), (90, 9), (95, 10), (100, 10)])
def test_so_many_per_cent_do_not_exceed_it(percent, expected):
    assert at_most(range(10, 0, -1), percent) == expected


def test_counts_beyond_floats_stay_exact():
    assert at_most([10**22 + 1, 10**22 + 3, 10**22 + 5], 50) == 10**22 + 3


def test_bleu_is_a_mean_over_examples_of_means_over_their_sentences():
    summary = Summary.of([lattice(10.0, 3, 100.0, 80.0, 60.0), lattice(12.0, 2, 50.0), lattice(14.0, 1)])
    assert (summary.examples, summary.length, summary.median, summary.largest) == (3, 12.0, 2, 3)
    assert summary.bleu == pytest.approx(65.0)
    assert summary.found == pytest.approx(4 / 3)


def test_without_new_sentences_there_is_no_bleu():
    assert math.isnan(Summary.of([lattice()]).bleu)


def test_at_equal_number_each_alignment_gives_as_many_as_the_poorest():
    small, large = [lattice(10.0, 2, 90.0), lattice()], [lattice(10.0, 9, 95.0, 70.0, 20.0), lattice(10.0, 9, 30.0)]
    assert Set("", {"small": small, "large": large}, [ALL]).bleu_of_as_many() == {"small": 90.0, "large": 95.0}


def test_growth_finds_the_factor_of_a_word_at_an_equal_number_of_references():
    # Longer references come with fewer of them, which hides the growth from a look at length alone.
    cases = [(length, 2 + (length * 7) % 5 + (20 - length)) for length in range(5, 20)]
    lattices = [lattice(float(length), 2**length * count**6, references=count) for length, count in cases]
    growth = Growth.of(lattices)
    assert growth.factor == pytest.approx(2.0)
    assert growth.both == pytest.approx(1.0)
    assert growth.length < 0.9
    assert growth.power < growth.both


def test_growth_of_equal_lattices_is_none():
    growth = Growth.of([lattice(9.0), lattice(10.0), lattice(11.0)])
    assert growth.factor == pytest.approx(1.0)
    assert growth.both == 0.0


# -- measuring ----------------------------------------------------------------------------------------------------

TEXTS = ("a grey cat sleeps on the old mat", "the cat is asleep on a mat", "one cat naps on the mat at noon")


class CountingEncoder(WordVectors):
    """Every word has a vector of its own; counts the sentences that it is asked for."""

    def __init__(self) -> None:
        words = sorted(set(" ".join(TEXTS).split()))
        super().__init__(words, np.eye(len(words)))
        self.sentences = 0

    @property
    def baseline(self) -> float:
        return 0.0

    def encode(self, sentences):
        self.sentences += len(sentences)
        return super().encode(sentences)


def test_each_example_is_measured_by_each_alignment_and_encoded_once(plain):
    examples = [Example(str(n), None, tuple(map(Reference, TEXTS[n:]))) for n in range(2)]
    encoder = CountingEncoder()
    found = measure(examples, encoder, plain)
    assert encoder.sentences == 5
    assert list(found) == list(ALIGNMENTS)
    assert all([one.references for one in lattices] == [3, 2] for lattices in found.values())
    assert found[HARD][0].length == pytest.approx(23 / 3)
    assert found[HARD][0].penalty is None
    assert found[ADAPTIVE][0].penalty == 0.3
    for lattices in found.values():
        for one in lattices:
            assert list(one.bleus) == sorted(one.bleus, reverse=True)
            assert len(one.bleus) <= min(WANTED, one.sentences - one.references)
            assert one.certain


# -- the page and the picture -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "expected"), [(7, "7"), (12_345, "12,345"), (10**6, "1.0e6"), (86_600_000_000_000_000_000, "8.7e19")]
)
def test_long_counts_are_shown_by_their_power_of_ten(count, expected):
    assert shown(count) == expected


def test_the_page_has_a_line_for_each_length_and_one_for_all():
    one = made_up_set()
    lines = page([one], "picture.svg", ["by hand"]).splitlines()
    for part in [*one.bins, ALL]:
        assert sum(line.startswith(f"| {part} ") for line in lines) == 2
    assert "- by hand" in lines
    assert not any("nan" in line for line in lines)


def test_the_page_says_where_the_number_of_references_plays_a_part():
    one = made_up_set("uneven")
    uneven = {
        alignment: [Measured(each.length, 2 + n % 9, each.sentences, each.bleus) for n, each in enumerate(lattices)]
        for alignment, lattices in one.lattices.items()
    }
    assert "uneven's examples have 2 to 10 references" in page([Set("uneven", uneven, one.bins)], "", [])
    assert "examples have" not in page([one], "", []).replace("of the examples have", "")


def test_the_picture_is_the_same_every_time_and_its_texts_are_texts():
    pytest.importorskip("matplotlib")
    from benchmarks.lattice_sizes.picture import draw

    sets = [made_up_set("one set"), made_up_set("another")]
    svg = draw(sets)
    assert svg == draw(sets)
    assert ">one set</text>" in svg
    assert ">60 examples, 5 references</text>" in svg
    assert "dc:date" not in svg
