"""Numbers by their value, however they are written."""

from __future__ import annotations

import pytest

from polyref.align.numbers import number_value

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
