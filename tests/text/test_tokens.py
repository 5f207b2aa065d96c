"""Words, their spacing and their two forms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyref.errors import SettingsError
from polyref.text import TextSettings, Tokens, join, tokenize

WORDS = TextSettings()
KEEP_CASE = TextSettings(fold_case=False)
WHITESPACE = TextSettings("whitespace")
CHARACTERS = TextSettings("characters")


def written(tokens: Tokens) -> str:
    return join(zip(tokens.surfaces, tokens.spaces, strict=True))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A cat, a dog.", "A|cat|,|a|dog|."),
        ("don't", "don't"),
        ("the dog’s bowl", "the|dog’s|bowl"),
        ("a well-known state-of-the-art", "a|well-known|state-of-the-art"),
        ("3.5 or 1,000 at 10:30 on 1/2", "3.5|or|1,000|at|10:30|on|1/2"),
        ("version 3.x", "version|3|.|x"),
        ("the U.S. team at 5 p.m.", "the|U.S.|team|at|5|p.m."),
        ("see a. b. and 1.2.", "see|a|.|b|.|and|1.2|."),
        ("می‌روم co\u00adop", "می‌روم|co\u00adop"),
        ("a\u200bb\ufeff c\u200b", "a|b|c"),
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我有3个苹果，好吗？", "我|有|3|个|苹|果|，|好|吗|？"),
        ("新しいiPhone 15を2台買った。", "新|し|い|iPhone|15|を|2|台|買|っ|た|。"),
        ("スーパーが", "ス|ー|パ|ー|が"),
        ("สวัสดี ครับ", "ส|วั|ส|ดี|ค|รั|บ"),
        ("A cat, don't: 3.5 한국어", "A|cat|,|don't|:|3.5|한국어"),
        ("か\u3099く", "か\u3099|く"),
    ],
)
def test_characters_cut_scripts_without_spaces_and_keep_other_words_whole(text, expected):
    assert "|".join(tokenize(text, CHARACTERS).surfaces) == expected


@given(st.text(alphabet=st.characters(max_codepoint=127)) | st.text(alphabet="aB. '-3,:_/\"\n", max_size=20))
def test_ascii_is_cut_as_all_text_is(text):
    # A letter beyond ASCII, set apart, makes the general pattern do the work.
    assert tokenize(text + " é", WORDS).words[:-1] == tokenize(text, WORDS).words


def test_a_space_that_must_not_break_is_kept():
    tokens = tokenize("Tu viens\u202f? «\u00a0Oui\u00a0»  non", WORDS)
    assert tokens.spaces == ("", " ", "\u202f", " ", "\u00a0", "\u00a0", " ")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("A cat sits on the mat.", True),
        ("a cat sits", True),
        ("a state-of-the-art cat's mat", True),
        ("A Cat, a dog", True),
        ("who sits there?", True),
        ("a cat ,a dog", False),
        ("a cat  sits", False),
        ("a cat sits. it sleeps.", False),
        ('a "cat" sits', False),
        ("a café", False),
        ("A CAT SITS THERE", False),
    ],
)
def test_plain_text_needs_no_care(text, plain):
    assert tokenize(text, WORDS).plain is plain


def test_whitespace_cuts_at_spaces_only():
    assert tokenize(" A  cat, isn't\tit? ", WHITESPACE).surfaces == ("A", "cat,", "isn't", "it?")


def test_folding_changes_what_is_compared_and_not_what_is_written():
    tokens = tokenize("The STRASSE Straße", WORDS)
    assert tokens.words == ("the", "strasse", "strasse")
    assert tokens.surfaces == ("The", "STRASSE", "Straße")


def test_case_can_be_kept():
    assert tokenize("The the", KEEP_CASE).words == ("The", "the")


@pytest.mark.parametrize("settings", [WORDS, KEEP_CASE, WHITESPACE, CHARACTERS])
def test_a_letter_with_its_accent_is_one_word_however_it_is_encoded(settings):
    apart, together = tokenize("cafe\u0301", settings), tokenize("caf\u00e9", settings)
    assert apart.words == together.words == ("caf\u00e9",)
    assert apart.surfaces == ("cafe\u0301",)


@pytest.mark.parametrize("sign", ["\u0600", "\u0602", "\u06dd", "\U000110bd"])
@pytest.mark.parametrize("settings", [WORDS, WHITESPACE, CHARACTERS])
def test_a_sign_that_goes_before_others_takes_no_space_along(sign: str, settings: TextSettings):
    """Unicode counts what is behind it as one character with it, also a space."""
    tokens = tokenize(f"a {sign} b {sign}\u00a0 c", settings)
    assert tokens.surfaces == ("a", sign, "b", sign, "c")
    assert tokenize(written(tokens), settings).words == tokens.words


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
    assert join([("b", " "), ("c", " "), (".", "")]) == "b c."


def test_an_unknown_tokenizer_is_refused_with_the_ones_that_exist():
    with pytest.raises(SettingsError, match='tokenizer is "moses"; choose one of words, whitespace, characters'):
        TextSettings("moses")  # type: ignore[arg-type]


@given(st.text(), st.sampled_from([WORDS, KEEP_CASE, WHITESPACE, CHARACTERS]))
def test_no_character_but_space_is_lost_or_moved(text, settings):
    tokens = tokenize(text, settings)
    text = text.replace("\u200b", " ").replace("\ufeff", " ")  # spaces too
    assert "".join("".join(tokens.surfaces).split()) == "".join(text.split())
    assert len(tokens.words) == len(tokens.surfaces) == len(tokens.spaces)


@given(st.text(), st.sampled_from([WORDS, KEEP_CASE, WHITESPACE, CHARACTERS]))
def test_what_was_written_again_has_the_same_words(text, settings):
    tokens = tokenize(text, settings)
    assert tokenize(written(tokens), settings).words == tokens.words


@given(st.text(alphabet="aA bß.,'-éİ", max_size=12), st.text(alphabet="aA bß.", max_size=12))
def test_a_word_does_not_depend_on_its_neighbours(left, right):
    both = tokenize(f"{left} {right}", WORDS).words
    assert both == tokenize(left, WORDS).words + tokenize(right, WORDS).words
