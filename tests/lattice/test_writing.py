"""A sentence is written so that it is cut into the same words again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyref import Lattice, SearchSettings, TextSettings
from polyref.text import tokenize

texts = st.lists(
    st.text(alphabet="ab3_’/ .,£(\"-'", min_size=1, max_size=14).filter(lambda text: text.strip() != ""),
    min_size=1,
    max_size=4,
)


@given(texts)
def test_every_sentence_is_cut_into_its_words_again(references):
    lattice = Lattice.from_references(references, engine="plain")
    found = lattice.search(30, SearchSettings(min_bleu=0))
    written = dict(zip(lattice.texts(found), lattice.best(30, SearchSettings(min_bleu=0)), strict=True))
    for text, sentence in written.items():
        assert text == sentence.text
        assert tokenize(text, TextSettings()).words == sentence.words


@pytest.mark.parametrize(
    ("references", "text"),
    [
        (["a (tabby cat", "an old tabby cat"], "an old tabby cat"),
        (["it costs £30 now", "it costs more than £ 30 now", "more than 30 now"], "more than 30 now"),
        (
            ['he said "hello there my friend"', "she whispered hello there my friend"],
            "she whispered hello there my friend",
        ),
    ],
)
def test_a_word_is_glued_only_to_what_it_was_glued_to(references, text):
    assert text in [sentence.text for sentence in Lattice.from_references(references).sentences()]


def test_two_marks_do_not_become_one():
    lattice = Lattice.from_references(["a b. c", "d b. . c", "a b c."])
    for sentence in lattice.sentences():
        assert tokenize(sentence.text, TextSettings()).words == sentence.words
