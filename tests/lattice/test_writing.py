"""A sentence is written so that it is cut into the same words again."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyref import AlignSettings, Lattice, SearchSettings, TextSettings, WordVectors
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


def sentences_of(*references: str, tokenizer: str = "words") -> set[str]:
    settings = TextSettings(tokenizer)  # type: ignore[arg-type]
    return {sentence.text for sentence in Lattice.from_references(references, text=settings).sentences()}


@pytest.mark.parametrize(
    ("references", "text"),
    [
        # A word that opens a sentence in one reference lands inside one.
        (
            ["It is a pub. It is cheap and good.", "It is a bar and it is cheap and small."],
            "It is a bar and it is cheap and good.",
        ),
        (
            ["It is a pub and it is cheap and good.", "It is a bar. It is cheap and small."],
            "It is a bar. It is cheap and good.",
        ),
        # Names stay names: "Zizzi" is seen with its capital inside a sentence.
        (
            ["Eat here. Zizzi is cheap and good.", "Go to the pub Zizzi is cheap and small."],
            "Go to the pub Zizzi is cheap and good.",
        ),
        # One who shouts among others is written in their voice.
        (["A man IN A RED HAT.".upper(), "A man in a blue hat."], "A man in a blue hat."),
        (["THE TALL MAN SITS IN A RED HAT", "a man sits in a blue hat"], "a man sits in a red hat"),
        # What most references have is taken.
        (["a dog runs fast", "A dog runs home", "A dog runs away now"], "A dog runs fast"),
        (
            ["He left , then slept well.", "He left, then slept late.", "He left, then slept here."],
            "He left, then slept well.",
        ),
        (["¿Dónde está la casa?", "Tom, ¿dónde está la puerta?"], "Tom, ¿dónde está la casa?"),
        (["Tu viens demain\u202f?", "Tu pars demain\u202f? Oui"], "Tu pars demain\u202f?"),
        (
            ["It's near Café Adriatic, and cheap.", "It's near Café Rouge, and costly."],
            "It's near Café Rouge, and cheap.",
        ),
        (["it costs £30 now", "it costs more than 30 pounds now"], "it costs £30 pounds now"),
        (['He said "Come in" to us.', 'She said "come here" to me.'], 'He said "Come here" to me.'),
    ],
)
def test_a_sentence_is_written_as_a_person_would_type_it(references, text):
    assert text in sentences_of(*references)


@pytest.mark.parametrize(
    ("references", "text"),
    [
        (["我有三个红苹果。", "他有三个绿苹果！"], "我有三个绿苹果！"),
        (["新しいiPhone 15を買った。", "古いiPhone 14を買った。"], "新しいiPhone 14を買った。"),
        (["我 有 三 个 苹果", "他 有 三 个 梨子"], "我 有 三 个 梨子"),
    ],
)
def test_scripts_without_spaces_stay_without_them(references, text):
    assert text in sentences_of(*references, tokenizer="characters")


def test_case_is_left_alone_where_it_is_kept():
    references = ["It is a pub. It is cheap.", "It is a bar and it is cheap."]
    for sentence in Lattice.from_references(references, text=TextSettings(fold_case=False)).sentences():
        assert tokenize(sentence.text, TextSettings(fold_case=False)).words == sentence.words


@given(
    st.lists(
        st.text(alphabet='aAbB. ?我有-"¿', min_size=1, max_size=12).filter(lambda t: t.strip() != ""),
        max_size=4,
        min_size=1,
    ),
    st.sampled_from(["words", "characters", "whitespace"]),
    st.booleans(),
)
def test_any_sentence_is_cut_into_its_words_again_with_any_settings(references, tokenizer, fold_case):
    settings = TextSettings(tokenizer, fold_case)
    lattice = Lattice.from_references(references, engine="plain", text=settings)
    found = lattice.search(20, SearchSettings(min_bleu=0))
    for text, sentence in zip(lattice.texts(found), lattice.best(20, SearchSettings(min_bleu=0)), strict=True):
        assert text == sentence.text
        assert tokenize(text, settings).words == sentence.words


@pytest.mark.parametrize("engine", ["plain", pytest.param("compiled", marks=pytest.mark.compiled)])
def test_two_marks_meet_only_where_a_reference_has_them_together(engine):
    # The comma is taken for a word, so that a full stop may follow it.
    alike = WordVectors([",", "d"], np.array([[1.0, 0.0], [1.0, 0.0]]))
    soft = AlignSettings("soft", "cosine", 0.5, veto=())
    lattice = Lattice.from_references(["a b c, e f", "a b c d."], align=soft, encoder=alike, engine=engine)
    chosen = lattice.best(50, SearchSettings(min_bleu=0))
    everything = lattice.best(50, SearchSettings(min_bleu=0, unseen_marks=True))
    assert {s.words for s in everything} - {s.words for s in chosen} == {("a", "b", "c", ",", ".")}


@pytest.mark.parametrize("engine", ["plain", pytest.param("compiled", marks=pytest.mark.compiled)])
def test_no_sentence_ends_with_a_mark_that_ends_no_reference(engine):
    # The comma is taken for the last word, behind which a sentence may end.
    alike = WordVectors([",", "d"], np.array([[1.0, 0.0], [1.0, 0.0]]))
    soft = AlignSettings("soft", "cosine", 0.5, veto=())
    lattice = Lattice.from_references(["a b c, e f", "a b c d"], align=soft, encoder=alike, engine=engine)
    chosen = lattice.best(50, SearchSettings(min_bleu=0))
    everything = lattice.best(50, SearchSettings(min_bleu=0, unseen_marks=True))
    assert {s.words for s in everything} - {s.words for s in chosen} == {("a", "b", "c", ",")}


def test_what_case_makes_of_a_word_counts_where_gluing_is_in_doubt(engine):
    # In the voice of the others, the first word is cut in two, so that the whole sentence is spaced out.
    references = ["Ten bob fin !!", "Yes bob- big fin !!", "ⒶⒶ BOB THE FIN !!"]
    texts = [one.text for one in Lattice.from_references(references, engine=engine).best(50)]
    assert "Ⓐⓐ bob - big fin !!" in texts
    assert "Ⓐⓐ bob- big fin !!" not in texts
