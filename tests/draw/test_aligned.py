"""How a lattice comes about, and how two of its references were aligned."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn import INDONESIA, SHAPES
from hypothesis import given
from hypothesis import strategies as st
from samples import CAT, Families

from polyref import AlignSettings, Lattice, SettingsError, WordVectors
from polyref.draw import save_matrix
from polyref.draw.aligned import compare
from polyref.draw.figure import caption
from polyref.draw.matrix import draw_matrix
from polyref.text import TextSettings

ALIKE = Families([(1.0, "indonesia"), (1.0, "reiterated repeats reiterates"), (1.0, "military troops armies")])


@pytest.fixture
def soft() -> Lattice:
    align = AlignSettings("soft", "cosine", 0.6)
    return Lattice.from_references(INDONESIA, align=align, encoder=ALIKE.encoder(), engine="plain")


def test_indonesia_is_merged_in_two_steps_to_the_papers_33_and_213(soft: Lattice) -> None:
    hard = Lattice.from_references(INDONESIA, engine="plain")
    assert [(step.pair, len(step.links), step.lattice.new) for step in hard.steps()] == [
        (None, 0, 0),
        ((0, 1), 4, 6),
        ((0, 2), 4, 33),
    ]
    assert [step.lattice.new for step in soft.steps()] == [0, 14, 213]


def test_captions_say_what_a_step_did(soft: Lattice) -> None:
    _, *merges = soft.steps()
    # Each link is worth 0.4, less what it loses for its place.
    first, second = (step.worth for step in merges)
    assert 2.4 - 6 * AlignSettings().position < min(first, second) < max(first, second) < 2.4
    assert [caption(step) for step in soft.steps()] == [
        "3 references side by side",
        f"A and B merged: 6 links, worth {first:.2f} over the penalty 0.6; 17 sentences, 14 of them new",
        f"A and C merged: 6 links, worth {second:.2f} over the penalty 0.6; 216 sentences, 213 of them new",
    ]


WORDS = st.lists(st.sampled_from("abcd"), min_size=1, max_size=6).map(" ".join)


@given(st.lists(WORDS, min_size=1, max_size=5), st.sampled_from(["tree", "paper"]))
def test_the_last_step_is_the_lattice_itself(references: list[str], order: str) -> None:
    lattice = Lattice.from_references(references, engine="plain", align=AlignSettings(merge_order=order))
    steps = lattice.steps()
    assert (steps[-1].lattice.arcs, steps[-1].lattice.finals) == (lattice.arcs, lattice.finals)
    assert (steps[-1].lattice.count, steps[-1].lattice.pieces) == (lattice.count, lattice.pieces)
    assert steps[0].lattice.count == len(set(references))
    assert all(step.worth > 0 for step in steps[1:])


def test_linked_words_are_pointed_out() -> None:
    _, merged = Lattice.from_references(["a b c", "x b c y"], engine="plain").steps()
    assert {merged.lattice.arcs[arc].word for arc in merged.linked_arcs} == {"b", "c"}


def test_steps_of_very_many_references_are_refused() -> None:
    lattice = Lattice.from_references([f"a b c d e w{n}" for n in range(300)], engine="plain")
    with pytest.raises(SettingsError, match="too many or too long to be followed step by step"):
        lattice.steps()


@pytest.mark.parametrize("suffix", ["svg", "tex"])
def test_steps_are_drawn_one_under_the_other(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"steps.{suffix}"
    Lattice.from_references(INDONESIA, engine="plain").save(path, steps=True)
    assert re.findall(r"\(([a-d])\)", path.read_text("utf-8")) == ["a", "b", "c"]


def test_a_page_shows_one_step_at_a_time_under_the_references(tmp_path: Path) -> None:
    path = tmp_path / "steps.html"
    Lattice.from_references(INDONESIA, engine="plain").save(path, steps=True, title="Figure 1")
    page = path.read_text("utf-8")
    assert (
        page.index("<h1>Figure 1</h1>") < page.index(INDONESIA[0]) < page.index('type="range"') < page.index("<figure>")
    )
    # Three steps, and the best sentence.
    assert page.count("<figure>") == 4
    assert 'max="3"' in page
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)


def test_steps_are_pictures_only(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"end the name in one of \.svg, \.png, \.html, \.tex"):
        Lattice.from_references(INDONESIA, engine="plain").save(tmp_path / "steps.json", steps=True)


def test_a_comparison_has_the_links_and_the_way_to_them() -> None:
    found = compare(Lattice.from_references(["a b c", "x b y c z"], engine="plain"), 0, 1)
    assert (found.pair, found.left, found.right) == ((0, 1), ("a", "b", "c"), ("x", "b", "y", "c", "z"))
    assert found.links == [(1, 1), (2, 3)]
    assert found.path == ((0, 0), (0, 1), (1, 1), (2, 2), (2, 3), (3, 4), (3, 5))
    assert found.caption() == "2 links between equal words"


@given(WORDS, WORDS)
def test_the_way_steps_through_every_word_and_slants_at_links_only(first: str, second: str) -> None:
    if first == second:
        return
    found = compare(Lattice.from_references([first, second], engine="plain"), 0, 1)
    moves = [(b[0] - a[0], b[1] - a[1]) for a, b in zip(found.path, found.path[1:], strict=False)]
    assert (found.path[0], found.path[-1]) == ((0, 0), (len(found.left), len(found.right)))
    assert set(moves) <= {(0, 1), (1, 0), (1, 1)}
    assert [at for at, move in zip(found.path, moves, strict=False) if move == (1, 1)] == found.links


def test_a_comparison_shows_the_similarity_that_was_used(soft: Lattice) -> None:
    found = compare(soft, 1, 0)  # the order does not matter
    assert found.pair == (0, 1)
    # "reiterated" is the second of 8 words, "repeats" the second of 11: 1/7 and 1/10 of the way.
    assert found.similarity[1][1] == pytest.approx(1 - AlignSettings().position * (1 / 7 - 1 / 10), abs=1e-4)
    assert found.caption() == f"6 links, worth {found.worth:.2f} over the penalty 0.6"
    assert found.worth == pytest.approx(sum(found.similarity[u][v] - 0.6 for u, v in found.links))


def test_the_table_has_a_star_at_each_link() -> None:
    found = compare(Lattice.from_references(["a b", "b c"], engine="plain"), 0, 1)
    assert found.as_table() == "       b       c\na      .       .\nb      1*      .\n1 link between equal words\n"


def test_negative_similarities_are_written_in_the_table() -> None:
    encoder = WordVectors(["up", "over"], np.array([[1.0, 0.0], [-1.0, 0.1]]))
    align = AlignSettings("soft", "cosine", 0.6)
    found = compare(Lattice.from_references(["up", "over"], align=align, encoder=encoder, engine="plain"), 0, 1)
    assert "-1.00" in found.as_table() or "-0.99" in found.as_table()
    assert "99<" not in draw_matrix(found)  # below 0.1 there is nothing to read
    assert not found.vetoed


def test_a_pair_that_is_never_linked_is_grey(engine_name: Any) -> None:
    alike = Families([(1.0, "two three"), (1.0, "left right")]).encoder()
    references = ["two cats left", "three cats right"]
    align = AlignSettings("soft", "cosine", 0.0)
    lattice = Lattice.from_references(references, align=align, encoder=alike, engine=engine_name)
    found = compare(lattice, 0, 1)
    assert found.vetoed == {(0, 0), (2, 2)}
    assert found.links == [(1, 1)]
    assert [found.similarity[0][0], found.similarity[2][2]] == [-1, -1]
    assert json.loads(found.as_json())["vetoed"] == [[0, 0], [2, 2]]
    loss = AlignSettings().position
    assert found.as_table().splitlines()[1].split() == ["two", "×", f"{-loss / 2:.2f}", f"{-loss:.2f}"]
    assert found.caption().endswith("; × never linked")
    assert draw_matrix(found).count('class="grey"') == 2
    assert "grey: never linked" in draw_matrix(found)
    free = AlignSettings("soft", "cosine", 0.0, veto=(), position=0)
    plain = compare(Lattice.from_references(references, align=free, encoder=alike, engine=engine_name), 0, 1)
    assert (plain.vetoed, plain.links) == (frozenset(), [(0, 0), (1, 1), (2, 2)])
    assert 'class="grey"' not in draw_matrix(plain)


@pytest.mark.parametrize("suffix", ["svg", "html", "json"])
def test_a_comparison_is_saved_by_suffix(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"matrix.{suffix}"
    found = compare(Lattice.from_references(CAT, engine="plain"), 0, 2)
    save_matrix(found, str(path), title="The cat")
    content = path.read_text("utf-8")
    if suffix == "json":
        record = json.loads(content)
        assert (record["format"], record["version"], record["pair"]) == ("polyref.matrix", 1, [0, 2])
        assert [tuple(link) for link in record["links"]] == found.links
    else:
        assert content.count('class="shade') == len(found.left) * len(found.right)
        assert {"The cat", "words of reference A", "words of reference C"} <= set(
            re.findall(r">([^<>]+)</text>", content)
        )
        assert not re.search(r"\bid=", content)


def test_a_word_that_is_linked_with_none_is_one_grey_bar_and_small_values_are_left_out() -> None:
    alike = Families([(0.4, "sofa couch")]).encoder()
    align = AlignSettings("soft", "cosine", 0.3, position=0.02)
    found = compare(Lattice.from_references(["two sofa , here", "couch are here"], align=align, encoder=alike), 0, 1)
    svg = draw_matrix(found)
    assert found.vetoed == {(2, v) for v in range(3)}  # the comma
    assert svg.count('class="grey"') == 1
    assert "similarity</text>" in svg
    written = [float(text) for text in re.findall(r">([\d.]+)</text>", svg) if "." in text and text != "0.5"]
    assert written and min(written) >= 0.1 and len(written) < 9


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ((0, 3), "there is no reference 3; they are counted from 0 to 2"),
        ((-1, 0), "there is no reference -1"),
        ((0, 2), "references 0 and 2 are the same; choose two that differ"),
        ((1, 1), "references 1 and 1 are the same"),
    ],
)
def test_a_pair_without_sense_is_refused(pair: tuple[int, int], message: str) -> None:
    lattice = Lattice.from_references(["a b", "a c", "A b"], engine="plain")
    with pytest.raises(SettingsError, match=message):
        compare(lattice, *pair)


def test_a_matrix_that_nobody_could_read_is_refused() -> None:
    long = [" ".join(f"{side}{n}" for n in range(120)) for side in "ab"]
    found = compare(Lattice.from_references(long, engine="plain", text=TextSettings("whitespace")), 0, 1)
    with pytest.raises(SettingsError, match="a matrix of 120 by 120 words is too large to be read; write json"):
        draw_matrix(found)


def test_steps_of_the_shapes_end_in_their_counts() -> None:
    for references in SHAPES.values():
        lattice = Lattice.from_references(references, engine="plain")
        assert lattice.steps()[-1].lattice.count == lattice.count
