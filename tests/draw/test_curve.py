"""The validations of a run: a picture, and a line of text."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest

from polyref.draw.curve import draw_curve, sparkline


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        ([], ""),
        ([3.0], "▁"),
        ([1, 1, 1], "▁▁▁"),
        ([0, 1, 2, 3, 4, 5, 6, 7], "▁▂▃▄▅▆▇█"),
        ([20.0, 10.0], "█▁"),
        ([1.0, math.nan, 2.0], "▁ █"),
        ([math.nan], ""),
    ],
)
def test_a_sparkline_goes_from_the_lowest_to_the_highest(values, drawn):
    assert sparkline(values) == drawn


def test_a_sparkline_of_many_values_is_short():
    drawn = sparkline([float(n) for n in range(1000)])
    assert len(drawn) == 30
    assert (drawn[0], drawn[-1]) == ("▁", "█")
    assert list(drawn) == sorted(drawn)


def texts(svg: str) -> list[str]:
    return [
        "".join(element.itertext()) for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    ]


def test_a_curve_has_a_panel_per_score_and_names_its_best():
    points = [(100 * n, {"bleu": 20.0 - abs(n - 3), "perplexity": 9.0 - n}) for n in range(1, 6)]
    found = texts(draw_curve(points, lowest=["perplexity"]))
    assert {"bleu", "20.00", "update 300", "500 updates"} <= set(found)
    assert {"perplexity", "4.0000", "update 500"} <= set(found)


@pytest.mark.parametrize("value", [0.0, 5.0, 0.00012, 1234567.0, -3.0])
def test_a_single_validation_is_drawn(value):
    assert "update 1" in texts(draw_curve([(1, {"bleu": value})]))


def test_scores_that_are_no_numbers_are_left_out():
    svg = draw_curve([(1, {"perplexity": math.nan}), (2, {"perplexity": 5.0}), (3, {"perplexity": math.inf})])
    assert "2 updates" in texts(svg)
    assert texts(draw_curve([(1, {"perplexity": math.nan})])) == []
