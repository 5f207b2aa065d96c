"""Words, their spacing and their two forms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyref.errors import SettingsError
from polyref.text import TextSettings, Tokens, join, tokenize

WORDS = TextSettings()
KEEP_CASE = TextSettings(fold_case=False)
WHITESPACE = TextSettings("whitespace")


def written(tokens: Tokens) -> str:
    return join(zip(tokens.surfaces, tokens.spaced, strict=True))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A cat, a dog.", "A|cat|,|a|dog|."),
        ("don't", "don't"),
        ("the dog’s bowl", "the|dog’s|bowl"),
        ("a well-known state-of-the-art", "a|well-known|state-of-the-art"),
        ("3.5 or 1,000 at 10:30 on 1/2", "3.5|or|1,000|at|10:30|on|1/2"),
        ("version 3.x", "version|3|.|x"),
        ("the U.S. team", "the|U|.|S|.|team"),
        ("wait... what?!", "wait|...|what|?|!"),
        ("yes -- no!!", "yes|--|no|!!"),
        ("$5 (50%)", "$|5|(|50|%|)"),
        ("rock 'n' roll", "rock|'|n|'|roll"),
        ("snake_case_word", "snake_case_word"),
        ("Cafe\u0301 au lait", "Cafe\u0301|au|lait"),
        ("日本語 です。", "日本語|です|。"),
        ("well done 👍🏽 👩‍👩‍👧", "well|done|👍🏽|👩‍👩‍👧"),
        ("tabs\tand\nlines\u00a0too", "tabs|and|lines|too"),
        ("  around  ", "around"),
    ],
)
def test_words_stand_apart_from_punctuation_but_keep_the_marks_inside_them(text, expected):
    assert "|".join(tokenize(text, WORDS).surfaces) == expected


def test_whitespace_cuts_at_spaces_only():
    assert tokenize(" A  cat, isn't\tit? ", WHITESPACE).surfaces == ("A", "cat,", "isn't", "it?")


def test_folding_changes_what_is_compared_and_not_what_is_written():
    tokens = tokenize("The STRASSE Straße", WORDS)
    assert tokens.words == ("the", "strasse", "strasse")
    assert tokens.surfaces == ("The", "STRASSE", "Straße")


def test_case_can_be_kept():
    assert tokenize("The the", KEEP_CASE).words == ("The", "the")


@pytest.mark.parametrize("settings", [WORDS, KEEP_CASE, WHITESPACE])
def test_a_letter_with_its_accent_is_one_word_however_it_is_encoded(settings):
    apart, together = tokenize("cafe\u0301", settings), tokenize("caf\u00e9", settings)
    assert apart.words == together.words == ("caf\u00e9",)
    assert apart.surfaces == ("cafe\u0301",)


@pytest.mark.parametrize("text", ["", " ", "\t\n", "\u00a0\u3000"])
@pytest.mark.parametrize("settings", [WORDS, WHITESPACE])
def test_a_blank_text_has_no_words(text, settings):
    assert len(tokenize(text, settings)) == 0


@pytest.mark.parametrize("text", ["Hello, world!", "(a) 50% of $5... don't!", "one", "«Oui», dit-il."])
def test_a_text_is_written_again_with_its_own_spacing(text):
    assert written(tokenize(text, WORDS)) == text


def test_runs_of_space_are_written_as_one():
    assert written(tokenize("  a \t b,\n\nc ", WORDS)) == "a b, c"


def test_a_text_begins_without_a_space_whatever_word_comes_first():
    assert join([("b", True), ("c", True), (".", False)]) == "b c."


def test_an_unknown_tokenizer_is_refused_with_the_ones_that_exist():
    with pytest.raises(SettingsError, match='unknown tokenizer "moses"; choose one of words, whitespace'):
        TextSettings("moses")  # type: ignore[arg-type]


@given(st.text(), st.sampled_from([WORDS, KEEP_CASE, WHITESPACE]))
def test_no_character_but_space_is_lost_or_moved(text, settings):
    tokens = tokenize(text, settings)
    assert "".join("".join(tokens.surfaces).split()) == "".join(text.split())
    assert len(tokens.words) == len(tokens.surfaces) == len(tokens.spaced)


@given(st.text(), st.sampled_from([WORDS, KEEP_CASE, WHITESPACE]))
def test_what_was_written_again_has_the_same_words(text, settings):
    tokens = tokenize(text, settings)
    assert tokenize(written(tokens), settings).words == tokens.words


@given(st.text(alphabet="aA bß.,'-éİ", max_size=12), st.text(alphabet="aA bß.", max_size=12))
def test_a_word_does_not_depend_on_its_neighbours(left, right):
    both = tokenize(f"{left} {right}", WORDS).words
    assert both == tokenize(left, WORDS).words + tokenize(right, WORDS).words
