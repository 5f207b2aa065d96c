"""The words that a language model knows, and the pieces of those that it does not."""

from collections import Counter
from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st

from polyref.encode.spelling import pieces
from polyref.encode.vocabulary import Vocabulary, words_hash

COUNTS = Counter({"cat": 5, "the": 9, "dog": 5, "zebra": 2, "once": 1})


def test_predicted_words_come_by_frequency_and_ties_by_the_alphabet():
    vocabulary = Vocabulary.from_counts(COUNTS, 2)
    assert vocabulary.words == ("the", "cat", "dog", "zebra")
    assert vocabulary.predicted == 4


def test_words_that_occur_less_often_than_the_cut_off_are_left_out():
    assert Vocabulary.from_counts(COUNTS, 3).words == ("the", "cat", "dog")
    assert Vocabulary.from_counts(COUNTS, 5).words == ("the", "cat", "dog")
    assert Vocabulary.from_counts(COUNTS, 6).words == ("the",)
    assert Vocabulary.from_counts(COUNTS, 10).words == ()


def test_words_that_can_only_be_read_stand_behind_and_each_once():
    vocabulary = Vocabulary.from_counts(COUNTS, 5, ["cat", "zebra", "emu", "zebra", "ant"], most=5)
    assert vocabulary.words == ("the", "cat", "dog", "zebra", "emu")
    assert vocabulary.predicted == 3


def test_a_limit_on_readable_words_does_not_cut_the_predicted_ones():
    assert Vocabulary.from_counts(COUNTS, 5, ["emu"], most=1).words == ("the", "cat", "dog")


def test_a_word_is_found_as_it_is_first_and_then_in_lower_case():
    vocabulary = Vocabulary(("the", "The", "cat"), 2)
    assert [vocabulary.find(word) for word in ("the", "The", "THE", "Cat", "emu")] == [0, 1, 0, 2, -1]


def test_the_hash_depends_on_the_words_and_their_order():
    hashes = {words_hash(words) for words in (["a", "b"], ["b", "a"], ["ab"], ["a"])}
    assert len(hashes) == 4


def test_pieces_are_runs_of_three_to_five_letters_with_the_edges_marked():
    expected = [crc32(piece.encode()) % 1000 for piece in ("<ab", "ab>", "<ab>")]
    assert list(pieces("ab", 1000)) == expected


@given(word=st.text(max_size=60), buckets=st.integers(1, 5000))
def test_every_word_has_a_piece_and_all_are_in_buckets(word, buckets):
    found = pieces(word, buckets)
    assert found
    assert all(0 <= bucket < buckets for bucket in found)


def test_of_a_very_long_word_only_the_beginning_counts():
    assert pieces("a" * 40 + "b" * 1000, 4096) == pieces("a" * 40, 4096)
    assert pieces("a" * 39 + "b", 4096) != pieces("a" * 40, 4096)
