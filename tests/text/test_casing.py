"""The case that fits where a word lands."""

import pytest

from polyref.text import TextSettings, tokenize
from polyref.text.casing import Casing, never_names, opening_places
from polyref.text.tokens import is_mark, needs_no_space


def tokens(text):
    return tokenize(text, TextSettings())


@pytest.mark.parametrize(
    ("text", "opening"),
    [
        ("He left. She stayed!", "He|She"),
        ("Mr. Smith met Dr. Jones. They ate.", "Mr|They"),
        ('"Stop," he said. "We are late."', '"|Stop|"|We|"'),
        ("¿Dónde está? ¡Aquí!", "¿|Dónde|¡|Aquí"),
        ("wait... no, J. Smith: yes", "wait"),
        ("The U.S. team won. (It did.)", "The|(|It|)"),
        ("他来了。我走了！", "他来了|我走了"),
    ],
)
def test_a_sentence_opens_at_the_start_and_behind_its_end(text, opening):
    cut = tokens(text)
    assert "|".join(cut.surfaces[position] for position in opening_places(cut) if position < len(cut)) == opening


@pytest.mark.parametrize(
    ("references", "word", "inside"),
    [
        (["The pub is near the river."], "The", "the"),
        (["Zizzi is cheap."], "Zizzi", "Zizzi"),  # nothing tells: it may be a name
        (["Green tea is good.", "I like green tea."], "Green", "green"),
        (["Mark runs.", "I saw Mark, and Mark saw me.", "a mark on it"], "Mark", "Mark"),
        (["It rains."], "It", "it"),
        (["I run."], "I", "I"),
        (["NASA flies."], "NASA", "NASA"),
    ],
)
def test_inside_a_sentence_only_names_keep_their_capital(references, word, inside):
    casing = Casing([tokens(text) for text in references])
    assert casing.fit(word.casefold(), word, opening=False) == inside


@pytest.mark.parametrize(
    ("references", "word", "opening"),
    [
        (["He left. She stayed."], "it", "It"),
        (["he left", "she stayed"], "it", "it"),  # these open with small letters
        (["He left."], "iPhone", "iPhone"),
        (["He left."], "éclair", "Éclair"),
        (["İyi. Işık kırık."], "istanbul", "istanbul"),  # its capital would be another letter
        (["He left."], "ŉ", "ŉ"),  # its capital is two letters
        (["He left."], "3rd", "3rd"),
        (["He left."], ",", ","),
    ],
)
def test_an_opening_gets_a_capital_where_the_references_have_them(references, word, opening):
    casing = Casing([tokens(text) for text in references])
    assert casing.fit(word.casefold(), word, opening=True) == opening


def test_one_who_shouts_is_written_as_the_others_write():
    loud, calm = tokens("THE MAYOR OF PARIS SMILES."), tokens("The mayor smiles in Paris.")
    short = tokens("NASA")
    assert Casing([loud, calm]).surfaces(loud) == ("The", "mayor", "of", "Paris", "smiles", ".")
    assert Casing([loud, loud]).surfaces(loud) == loud.surfaces
    assert Casing([short, calm]).surfaces(short) == ("NASA",)


def test_words_that_are_never_names_are_small_and_whole():
    assert {"the", "il", "der"} <= never_names()
    assert all(word == word.casefold() for word in never_names())


def test_marks_are_punctuation_and_not_symbols():
    assert all(map(is_mark, [".", "...", "，", "«", '"', "--"]))
    assert not any(map(is_mark, ["a", "£", "3", "'n", "👍"]))


def test_scripts_that_set_no_spaces():
    assert all(map(needs_no_space, "我かカ。ไ"))
    assert not any(map(needs_no_space, "aé한я3."))
