"""Words that are never linked, however close their vectors are."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from samples import Families

from polyref import AlignSettings, Lattice, TextSettings
from polyref.align import UNIT, VETO_KINDS, is_vetoed, veto
from polyref.align.veto import contrasts, exclusions, number_value, parse_groups, plural, same_mark
from polyref.draw.aligned import compare
from polyref.text import tokenize

CONTRASTS = parse_groups((Path(veto.__file__).parent / "contrasts.txt").read_text("utf-8"))


def split(pairs: str) -> list[tuple[str, str]]:
    return [(left, right) for left, right in (pair.split("~") for pair in pairs.split())]


NEVER = {
    "numbers": "two~three 2~3 two~3 1,000~1,001 first~second 2nd~two 1984~1985 dozen~ten 3.5~3 ٢~٣ couple~three "
    "two-story~three-story 10:30~11:30 seventies~80s",
    "negation": "not~is don't~do can't~can won’t~will never~always no~a without~with isn't~is neither~both n't~be "
    "non-smoking~smoking nobody~people cannot~can hardly~very nothing~something",
    "marks": '.~, .~and ,~is !~? (~) "~( -~to ...~. ;~, 。~，',
    "contrasts": "grey~brown red~blue left~right up~down inside~outside front~back above~below monday~friday may~june "
    "summer~winter he~she his~her man~woman men~girls boy~women father~mother son~daughter mother~daughter i~you "
    "we~they my~his cheap~expensive cheap~moderate high~low high~average good~bad big~small open~closed old~young "
    "old~new hot~cold before~after first~last near~far more~less most~least all~some day~night north~east dog~cats "
    "puppy~kitten bird~dog horse~cows bus~train plane~cars baseball~tennis english~french italian~chinese apple~orange "
    "orange~blue turkey~chicken turkey~france sits~stands a~two girl~dog higher~low surfing~skiing man~children",
}
FREE = {
    "numbers": "2~two one~a 1,000~1000 twelve~dozen 2nd~second two~couple few~three two-story~2 seven~cat 10am~10 "
    "½~half",
    "negation": "isn't~not don't~doesn't don’t~don't can't~cannot no~not never~nobody without~no is~are can~may",
    "marks": "“~\" ‘~’ ’~' –~— —~-- -~‑ ...~… !~!! ，~, 。~. &~and %~percent «~»",
    "contrasts": "gray~grey silver~grey man~person woman~person dog~animal cat~animal duck~bird boy~man girl~woman "
    "they~he their~his it~they bike~bicycle bike~motorcycle soccer~football autumn~fall orange~fruit his~him "
    "bus~vehicle dog~dogs puppy~dog several~three decades~years sofa~couch cheap~inexpensive red~bright "
    "right~correct second~2nd may~can",
}


@pytest.mark.parametrize(("kind", "pair"), [(kind, pair) for kind in NEVER for pair in split(NEVER[kind])])
def test_these_are_never_linked(kind: Any, pair: tuple[str, str]) -> None:
    for left, right in (pair, pair[::-1]):
        assert is_vetoed(left, right)
        assert is_vetoed(left, right, [kind])
        assert not is_vetoed(left, right, [])


@pytest.mark.parametrize("pair", [pair for kind in FREE for pair in split(FREE[kind])])
def test_these_are_free(pair: tuple[str, str]) -> None:
    assert not is_vetoed(*pair)
    assert not is_vetoed(*reversed(pair))


@pytest.mark.parametrize("word", ["two", "don't", ".", "red", "orange", "never", "he", "cat", "1,000", "second", "may"])
def test_equal_words_are_never_vetoed(word: str) -> None:
    assert not is_vetoed(word, word)
    assert not is_vetoed(word, word.upper())


def test_each_kind_can_be_left_out() -> None:
    for kind, pairs in NEVER.items():
        others = [other for other in VETO_KINDS if other != kind]
        freed = [pair for pair in split(pairs) if not is_vetoed(*pair, others)]
        assert len(freed) > len(split(pairs)) / 3, kind  # some are vetoed by another kind as well: "a" and "two"


@pytest.mark.parametrize("text", ["I don't know.", "I don’t know.", "He can't, she won't"])
def test_a_contraction_is_one_word_and_denies(text: str) -> None:
    words = tokenize(text, TextSettings()).words
    denying = [word for word in words if is_vetoed(word, "cat", ["negation"])]
    assert denying == [word for word in words if "'t" in word or "’t" in word] != []


def test_marks_have_one_form_each() -> None:
    assert [same_mark(mark) for mark in ("“", "—", "--", "…", "....", "？！", "?!", "!!!")] == [
        '"', "-", "-", "...", "...", "?!", "?!", "!",
    ]  # fmt: skip


# -- numbers by their value, however they are written ------------------------------------------------------------------


EQUAL = [
    "2 two Two ２ ٢ ② both couple pair twice double two-story 2-storey 2.0 2:00",
    "1,000 1000 thousand 1000.00",
    "12 dozen twelve",
    "3.5 3,5 3.50",
    "0.5 half ½ 1/2 2/4",
    "2nd second 2ND second-hand",
    "21 twenty-one Twenty‑one twenty-one-year-old",
    "21st twenty-first",
    "40th fortieth",
    "70s 1970s seventies 1970's",
    "10 10am ten 10:00",
    "10:30 10:30am",
    "1984",
    "2,500,000 2500000",
    "4 Ⅳ four",
]


@pytest.mark.parametrize("line", EQUAL)
def test_numbers_of_equal_value_are_equal(line: str) -> None:
    values = {number_value(word) for word in line.split()}
    assert len(values) == 1
    assert None not in values


def test_numbers_of_different_value_differ() -> None:
    values = [number_value(line.split()[0]) for line in EQUAL]
    assert len(set(values)) == len(values)


@pytest.mark.parametrize("word", ["a", "cat", "-", ".", ",", "...", "a380", "4x4", "someone", "often", "", "tenant"])
def test_other_words_are_no_numbers(word: str) -> None:
    assert number_value(word) is None


@pytest.mark.parametrize(
    ("word", "numbers"),
    [("2-3", [2, 3]), ("20-5", [20, 5]), ("one-on-one", [1, 1]), ("12/25/2005", [12, 25, 2005]), ("1/0", [1, 0])],
)
def test_a_word_may_hold_several_numbers(word: str, numbers: list[int]) -> None:
    assert number_value(word) == tuple(("cardinal", number) for number in numbers)


@pytest.mark.parametrize("word", ["9" * 5_000, "1/" * 3_000, "," * 1_000])
def test_a_word_of_any_length_is_looked_at_in_no_time(word: str) -> None:
    assert number_value(word) is None


# -- the lists of contrasts --------------------------------------------------------------------------------------------


def test_no_word_stands_twice_in_a_group() -> None:
    for group in CONTRASTS:
        words = [word for member in group for synonyms in member for word in synonyms]
        assert len(words) == len(set(words)), group[0]
        assert len(group) > 1
        assert all(synonyms for member in group for synonyms in member)


def test_no_group_excludes_what_another_holds_for_synonyms() -> None:
    rows, _ = contrasts()
    for group in CONTRASTS:
        for left, right in combinations(group, 2):
            for word in (word for synonyms in left for word in synonyms):
                for other in (word for synonyms in right for word in synonyms):
                    assert is_vetoed(word, other, ["contrasts"]), f"{word} and {other} are synonyms elsewhere"
                    assert word in rows


def test_words_of_contrasts_are_as_they_are_compared() -> None:
    for word in contrasts().rows:
        assert word == word.casefold()
        assert tokenize(word, TextSettings()).words == (word,)


def test_a_group_is_read_with_its_members_synonyms_and_plurals() -> None:
    text = "# a remark\n\n+ dog puppy | bus / fox # another\ngrey, gray | red\n"
    assert parse_groups(text) == [
        [[["dog", "dogs", "puppy", "puppies"]], [["bus", "buses"], ["fox", "foxes"]]],
        [[["grey", "gray"]], [["red"]]],
    ]


@pytest.mark.parametrize(
    ("noun", "plurals"),
    [("dog", "dogs"), ("bus", "buses"), ("puppy", "puppies"), ("boy", "boys"), ("bench", "benches")],
)
def test_plurals_are_regular(noun: str, plurals: str) -> None:
    assert plural(noun) == plurals


# -- in an alignment ---------------------------------------------------------------------------------------------------


def test_exclusions_say_what_is_vetoed_between_all_words_of_an_example() -> None:
    vocabulary = ["two", "three", "2", ".", ",", "not", "is", "red", "blue", "cat"]
    found = exclusions(vocabulary, VETO_KINDS).between(range(10), range(10))
    assert found.tolist() == [[is_vetoed(left, right) for right in vocabulary] for left in vocabulary]
    assert not exclusions(vocabulary, []).between(range(10), range(10)).any()


def test_a_vetoed_pair_is_linked_at_no_penalty(engine_name: Any) -> None:
    alike = Families([(1.0, "two three"), (1.0, "is isn't"), (1.0, "left right"), (1.0, ". and")]).encoder()
    references = ["two cat is left .", "three cat isn't right and"]
    for penalty in (0.0, 0.5, 0.9):
        align = AlignSettings("soft", "cosine", penalty)
        lattice = Lattice.from_references(references, align=align, encoder=alike, engine=engine_name)
        found = compare(lattice, 0, 1)
        assert found.links == [(1, 1)]
        assert {found.similarity[place][place] for place in (0, 2, 3, 4)} == {-1}
    assert np.int32(-UNIT) / UNIT == -1


def test_capitals_do_not_matter_even_where_they_are_kept(engine_name: Any) -> None:
    alike = Families([(1.0, "Left left right Right")]).encoder()
    align, text = AlignSettings("soft", "cosine", 0.5), TextSettings(fold_case=False)
    for right, links in (("right", []), ("Right", []), ("left", [(0, 0)])):
        references = ["Left", right]
        lattice = Lattice.from_references(references, align=align, text=text, encoder=alike, engine=engine_name)
        assert compare(lattice, 0, 1).links == links
