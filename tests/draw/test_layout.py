"""Where things are drawn: nothing overlaps, and every sentence can be followed."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations, islice, pairwise

import pytest
from drawn import AWKWARD, SHAPES
from hypothesis import given
from hypothesis import strategies as st

from polyref import Lattice, SettingsError
from polyref.draw.figure import Figure, Text, draw_one, draw_steps
from polyref.draw.layout import Box, Map, lay_out
from polyref.draw.network import network_of, way_of, word_twice
from polyref.draw.style import broken_into_lines, text_width
from polyref.text import TextSettings


def lattice_of(references: list[str]) -> Lattice:
    return Lattice.from_references(references, engine="plain", text=TextSettings("whitespace"))


def overlap(one: Box, other: Box) -> bool:
    apart_x = one.x + one.width <= other.x or other.x + other.width <= one.x
    return not (apart_x or one.y + one.height <= other.y or other.y + other.height <= one.y)


def box_of(text: Text) -> Box:
    width = text_width(text.text, text.size, bold=text.bold)
    return Box(text.x - width if text.leftward else text.x, text.y - 0.8 * text.size, width, 1.05 * text.size)


def check_map(drawn: Map) -> None:
    """No two stations overlap, none leaves the map, and no line runs through a station that is not its own."""
    for first, second in combinations(drawn.stations, 2):
        assert not overlap(first.box, second.box), (first, second)
    for station in drawn.stations:
        box = station.box
        assert box.x >= 0 and box.y >= 0
        assert box.x + box.width <= drawn.width and box.y + box.height <= drawn.height
        if station.kind == "word":
            assert text_width(station.label, 14, bold=True) < box.width
        for stretch in drawn.stretches:
            if stretch.reference in station.references:
                continue
            high, low = sorted((stretch.y1, stretch.y2))
            beside = stretch.x2 <= box.x or stretch.x1 >= box.x + box.width
            assert beside or low <= box.y or high >= box.y + box.height, (stretch, station)


def check_figure(figure: Figure) -> None:
    boxes = [box_of(text) for text in figure.texts]
    for panel in figure.panels:
        check_map(panel.map)
        boxes += [replace(s.box, x=s.box.x + panel.x, y=s.box.y + panel.y) for s in panel.map.stations]
    for box in boxes:
        assert box.x >= 0 and box.y >= 0
        assert box.x + box.width <= figure.width and box.y + box.height <= figure.height
    for first, second in combinations(boxes, 2):
        assert not overlap(first, second)


@pytest.mark.parametrize("references", SHAPES.values(), ids=SHAPES)
def test_nothing_overlaps_and_nothing_leaves_the_picture(references: list[str]) -> None:
    check_figure(draw_one(Lattice.from_references(references, engine="plain"), 1, "A title"))


@pytest.mark.parametrize("references", SHAPES.values(), ids=SHAPES)
def test_nothing_overlaps_in_any_step(references: list[str]) -> None:
    steps = Lattice.from_references(references, engine="plain").steps()
    check_figure(draw_steps(steps))


def test_words_of_any_script_fit_into_their_stations() -> None:
    check_figure(draw_one(lattice_of(AWKWARD), None, "\t".join(AWKWARD)))


WORDS = st.lists(st.sampled_from(["a", "bb", "the", "elephant", "of", "."]), min_size=1, max_size=12).map(" ".join)


@given(st.lists(WORDS, min_size=1, max_size=8))
def test_nothing_overlaps_whatever_the_references(references: list[str]) -> None:
    lattice = lattice_of(references)
    network = network_of(lattice)
    drawn = lay_out(network, widest=600)
    check_map(drawn)
    along = {stretch.edge for stretch in drawn.stretches} - {(0, 0)}  # from the letters to the start
    assert along == {edge for line in network.lines for edge in pairwise(line)}
    for sentence in islice(lattice.sentences(), 30):
        assert set(pairwise(way_of(lattice, network, sentence.words))) <= along, "it runs where no line is"


@pytest.mark.parametrize("references", SHAPES.values(), ids=SHAPES)
def test_a_line_runs_through_the_words_of_its_reference_from_left_to_right(references: list[str]) -> None:
    lattice = lattice_of(references)
    network = network_of(lattice)
    drawn = lay_out(network, widest=100_000)
    left = {station.node: station.box.x for station in drawn.stations}
    for line, reference in zip(network.lines, references, strict=True):
        words = [network.nodes[node].label for node in line if network.nodes[node].kind == "word"]
        assert [word.casefold() for word in words] == reference.casefold().split()
        assert [left[node] for node in line] == sorted({left[node] for node in line})


def test_a_line_is_unbroken_from_its_letter_to_its_end() -> None:
    drawn = lay_out(network_of(lattice_of(SHAPES["cat"])), widest=100_000)
    for badge in drawn.badges:
        own = [stretch for stretch in drawn.stretches if stretch.reference == badge.reference]
        assert (own[0].x1, own[0].y1) == (badge.x, badge.y)
        assert all((one.x2, one.y2) == (two.x1, two.y1) for one, two in pairwise(own))


def test_a_long_lattice_is_wrapped_into_rows() -> None:
    network = network_of(lattice_of(SHAPES["cat"]))
    wide, wrapped = lay_out(network, widest=100_000), lay_out(network, widest=700)
    assert wrapped.width < 1000 < wide.width
    assert wrapped.height > 2 * wide.height
    assert sorted(s.node for s in wrapped.stations) == sorted(s.node for s in wide.stations)


@pytest.mark.parametrize("references", SHAPES.values(), ids=SHAPES)
def test_letters_are_in_the_same_order_in_every_row(references: list[str]) -> None:
    badges = lay_out(network_of(lattice_of(references)), widest=500).badges
    rows: list[list[int]] = [[]]
    for badge, after in zip(badges, [*badges[1:], None], strict=True):
        rows[-1].append(badge.reference)
        if after is not None and after.y > badge.y and after.reference <= badge.reference:
            rows.append([])
    assert len(rows) > 1
    assert all(row == sorted(row) for row in rows)


def test_a_sentence_leaves_the_letters_on_one_line() -> None:
    lattice = lattice_of(SHAPES["cat"])
    network = network_of(lattice)
    drawn = lay_out(network, widest=500)
    for sentence in lattice.best(20):
        way = way_of(lattice, network, sentence.words)
        along = drawn.along(way)
        assert {stretch.edge for stretch in along} == set(pairwise(way))
        for edge in pairwise(way):
            in_fan = [stretch for stretch in along if stretch.in_fan and stretch.edge == edge]
            assert len({stretch.reference for stretch in in_fan}) <= 1
        assert any(stretch.in_fan for stretch in along)


HEBREW = ["החתול ישן על השטיח האדום", "חתול אפור ישן על השטיח", "החתול האפור נח על הספה"]


def test_hebrew_and_arabic_run_from_right_to_left() -> None:
    figure = draw_one(lattice_of(HEBREW), 1, "A title")
    check_figure(figure)
    [panel] = figure.panels
    assert all(stretch.x1 >= stretch.x2 for stretch in panel.map.stretches)
    assert panel.x + panel.map.width == figure.width - 16
    assert all(badge.x > figure.width / 2 for badge in figure.badges)
    assert network_of(lattice_of(["ألا ترى أن BBC"])).leftward
    assert not network_of(lattice_of(["the word שלום"])).leftward


@pytest.mark.parametrize(("references", "expected"), [(["a b a"], "“a”"), (["a the b", "b the a"], "“the”|“[ab]”")])
def test_a_picture_says_why_a_word_stands_twice(references: list[str], expected: str) -> None:
    said = word_twice(network_of(lattice_of(references))) or ""
    assert re.search(f"such as ({expected}), is two stations", said)
    assert word_twice(network_of(lattice_of(["a b", "a c"]))) is None


def test_two_references_that_share_all_but_a_word_do_not_cross() -> None:
    drawn = lay_out(network_of(lattice_of(["a b c d e", "a b x d e"])))
    heights = {r: [(s.x1, s.y1) for s in drawn.stretches if s.reference == r] for r in (0, 1)}
    upper = [one[1] < two[1] for one, two in zip(heights[0], heights[1], strict=True)]
    assert len(set(upper)) == 1


def test_the_same_references_give_the_same_picture() -> None:
    first, again = (Lattice.from_references(SHAPES["bridge"], engine="plain").draw() for _ in range(2))
    assert first == again


def test_a_lattice_that_nobody_could_read_is_refused() -> None:
    many = lattice_of([f"a w{n} b" for n in range(21)])
    with pytest.raises(SettingsError, match="room for 20 references with 1,000 words in all, and these are 21 with 63"):
        many.draw()
    assert many._repr_svg_() is None
    assert repr(many) == "<Lattice of 21 references, 4 states, 23 arcs>"


def test_text_is_broken_at_spaces_to_fit() -> None:
    lines = broken_into_lines("one two three four five six", 10, 60)
    assert " ".join(lines) == "one two three four five six"
    assert len(lines) > 1
    assert all(text_width(line, 10) <= 60 for line in lines)


@pytest.mark.parametrize(
    ("text", "expected"), [("e\u0301", text_width("e", 10)), ("日本", 21.0), ("", 0.0), ("\u200b", 0.0)]
)
def test_marks_have_no_width_and_wide_characters_a_full_one(text: str, expected: float) -> None:
    assert text_width(text, 10) == pytest.approx(expected)
