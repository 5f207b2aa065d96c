"""A setting is declared once; what it refuses names the key, the problem and the cure, in words of no command line."""

import math
from dataclasses import FrozenInstanceError
from typing import Any, Literal

import pytest

from polyref.errors import SettingsError
from polyref.settings import build, check, contents, keys, part, required, setting, settings, within

Colour = Literal["light", "dark", "see_through"]


def no_hyphens(text: str) -> str:
    return text.replace("-", "_")


@settings
class Decay:
    factor: float = setting(0.5, "What the rate is multiplied with.", above=0, below=1)
    patience: int = setting(3, "Validations to wait.", at_least=0)


@settings
class Line:
    width: float = setting(1.0, "Width of a line.", above=0, at_most=10)
    colour: Colour = setting("light", "Colour of a line.", clean=no_hyphens)


@settings
class Drawing:
    title: str = required("Title of the drawing.")
    rows: int = setting(1, "Number of rows.", at_least=1, at_most=1000, hint="such as 4")
    scale: float | Literal["fit"] = setting(1.0, "Scale, or fit.", at_least=0)
    seed: int = setting(0, "Decides ties.", at_least=-(2**63), below=2**63)
    legend: bool = setting(True, "Draw a legend.", off="Draw no legend.")
    limit: int | None = setting(None, "Most words.", at_least=1, unset="all words")
    name: str | None = setting(None, "Name of the file.")
    sizes: tuple[int, ...] = setting((1, 2), "Sizes to draw.", at_least=1)
    marks: tuple[Colour, ...] = setting((), "Colours of marks.", clean=None)
    decay: Decay | None = setting(None, "How it fades.")
    line: Line = part(Line, width=2.0)

    def check_together(self) -> None:
        if self.limit is not None and self.limit < self.rows:
            raise SettingsError(
                f"is {self.limit}", f"give {self.rows} or more: one per row", key="limit", also=("rows",)
            )


def refusal(**given: Any) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        build(Drawing, {"title": "a cat"} | given)
    return caught.value


def test_settings_are_frozen_and_compared_by_value() -> None:
    drawing = Drawing("a cat")
    assert drawing == Drawing("a cat") and drawing != Drawing("a dog")
    with pytest.raises(FrozenInstanceError):
        drawing.rows = 2  # type: ignore[misc]


def test_a_value_is_kept_as_its_own_type() -> None:
    drawing = Drawing("a cat", scale=2, sizes=[3, 4])  # type: ignore[arg-type]
    assert (drawing.scale, type(drawing.scale)) == (2.0, float)
    assert drawing.sizes == (3, 4)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("rows", 0, "rows is 0; give a whole number from 1 to 1,000, such as 4"),
        ("rows", 1001, "rows is 1001; give a whole number from 1 to 1,000, such as 4"),
        ("rows", 2.0, "rows is 2.0; give a whole number from 1 to 1,000, such as 4"),
        ("rows", True, "rows is true; give a whole number from 1 to 1,000, such as 4"),
        ("rows", "many", 'rows is "many"; give a whole number from 1 to 1,000, such as 4'),
        ("scale", -1, "scale is -1; give a number, 0 or more, or fit"),
        ("scale", math.nan, "scale is nan; give a number, 0 or more, or fit"),
        ("scale", math.inf, "scale is inf; give a finite number, 0 or more, or fit"),
        ("scale", "fitt", 'scale is "fitt"; did you mean fit? give a number, 0 or more, or fit'),
        ("seed", 2**63, "seed is 9223372036854775808; give a whole number from -2^63 to less than 2^63"),
        ("seed", 10**400, "seed is a number with too many digits; give a whole number from -2^63 to less than 2^63"),
        ("legend", 1, "legend is 1; give true or false"),
        ("title", "a\0b", 'title is "a\\0b"; give a string of Unicode characters, without \\0'),
        ("title", "\udc80", 'title is "\\udc80"; give a string of Unicode characters, without \\0'),
        ("sizes", [1, 0], "sizes holds 0; give a list of whole numbers, 1 or more"),
        ("sizes", "12", 'sizes is "12"; give a list of whole numbers, 1 or more'),
        ("marks", ["ligt"], 'marks holds "ligt"; did you mean light? give a list with any of light, dark, see-through'),
        ("width", 0, "width is 0; give a number above 0 and at most 10"),
        ("colour", "green", 'colour is "green"; choose one of light, dark, see-through'),
        ("decay", 3, "decay is 3; give a table"),
        ("decay", {"factor": 1}, "decay.factor is 1; give a number above 0 and below 1"),
        ("decay", {"factr": 0.5}, 'decay.factr is not a known key; did you mean "factor"?'),
        ("colours", "dark", 'colours is not a known key; did you mean "colour"?'),
        ("name", 3, "name is 3; give a string"),
        ("limit", 0, "limit is 0; give a whole number, 1 or more"),
    ],
)
def test_a_refusal_names_the_key_the_problem_and_the_cure(key: str, value: Any, message: str) -> None:
    assert str(refusal(**{key: value})) == message


def test_a_long_value_is_quoted_in_part() -> None:
    assert len(str(refusal(colour="x" * 10_000))) < 400


def test_what_depends_on_two_settings_names_both() -> None:
    error = refusal(rows=5, limit=3)
    assert (str(error), error.key, error.also) == ("limit is 3; give 5 or more: one per row", "limit", ("rows",))


def test_a_required_setting_must_be_given() -> None:
    with pytest.raises(SettingsError, match=r"^title is missing; give it$"):
        build(Drawing, {})


def test_none_stands_for_a_setting_that_is_not_set_where_that_is_allowed() -> None:
    assert build(Drawing, {"title": "a", "limit": None}).limit is None
    assert refusal(rows=None).key == "rows"


def test_a_spelling_is_cleaned_before_it_is_checked() -> None:
    assert build(Drawing, {"title": "a", "colour": "see-through"}).line.colour == "see_through"


@pytest.mark.parametrize("typed", ["See-Through", "SEE_THROUGH", "see_through"])
def test_names_may_be_typed_in_any_case_and_with_either_hyphen(typed: str) -> None:
    assert build(Drawing, {"title": "a cat", "marks": ("Dark", typed)}).marks == ("dark", "see_through")


def test_the_keys_of_a_part_are_among_those_of_its_class_with_the_defaults_it_has_there() -> None:
    found = {key.name: key for key in keys(Drawing)}
    assert list(found) == [
        *("title", "rows", "scale", "seed", "legend", "limit", "name", "sizes", "marks"),
        *("decay", "decay.factor", "decay.patience", "width", "colour"),
    ]
    assert (found["width"].default, found["decay.factor"].default, found["rows"].declared.help) == (
        *(2.0, 0.5),
        "Number of rows.",
    )
    assert found["decay"].table is Decay


def test_what_is_not_given_stays_as_it_usually_is() -> None:
    usual = Drawing("a cat", rows=7, decay=Decay(patience=9), line=Line(3.0))
    made = build(Drawing, {"title": "a dog", "decay": {"factor": 0.25}}, usual)
    assert made == Drawing("a dog", rows=7, decay=Decay(0.25, 9), line=Line(3.0))


def test_contents_and_build_are_inverse() -> None:
    drawing = Drawing("a cat", scale="fit", sizes=(5,), decay=Decay(0.1), line=Line(4.0, "dark"))
    assert build(Drawing, contents(drawing)) == drawing


def test_a_table_may_be_named_before_its_keys() -> None:
    with pytest.raises(SettingsError, match=r"^expand.limit is 3; ") as caught, within("expand"):
        build(Drawing, {"title": "a", "rows": 5, "limit": 3})
    assert caught.value.also == ("expand.rows",)


def test_one_value_is_checked_without_the_others() -> None:
    rows = next(key for key in keys(Drawing) if key.name == "rows")
    check(rows, 4)
    with pytest.raises(SettingsError, match=r"^rows is 0; "):
        check(rows, 0)
