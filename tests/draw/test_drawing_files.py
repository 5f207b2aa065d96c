"""The forms that a lattice is written in."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from drawn import AWKWARD, SHAPES
from samples import CAT

from polyref import Lattice, MissingExtraError, SettingsError
from polyref.draw.aligned import compare
from polyref.draw.export import as_dot, as_fst, as_json, fst_symbol, in_tex
from polyref.draw.matrix import draw_matrix
from polyref.draw.style import broken_into_lines
from polyref.text import TextSettings

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def cat() -> Lattice:
    return Lattice.from_references(CAT, engine="plain")


@pytest.fixture(scope="module")
def awkward() -> Lattice:
    return Lattice.from_references(AWKWARD, engine="plain", text=TextSettings("whitespace"))


def labels(svg: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_svg_shows_each_word_once_for_all_that_share_it(cat: Lattice) -> None:
    drawn = ElementTree.fromstring(cat.draw(legend=False))
    stations = [group for group in drawn.iter(f"{SVG}g") if group.get("data-node")]
    assert len(stations) == len(cat.arcs)
    titles = {group.findtext(f"{SVG}title") for group in stations}
    assert {"in: A, B, C, E", "kitchen: D"} <= titles


def test_svg_has_no_ids_and_needs_nothing_from_elsewhere(cat: Lattice) -> None:
    svg = cat.draw()
    assert not re.search(r"\bid=|href|url\(|@import", svg)
    assert svg.count("<style>") == 1
    assert "prefers-color-scheme" in svg


def test_the_theme_is_light_or_dark_or_the_readers(cat: Lattice) -> None:
    light, dark = cat.draw(theme="light"), cat.draw(theme="dark")
    assert "<style>" not in light + dark
    assert '<rect class="paper" width="100%" height="100%" fill="#ffffff"/>' in light
    assert '<rect class="paper" width="100%" height="100%" fill="#15181d"/>' in dark


def test_words_are_escaped(awkward: Lattice) -> None:
    assert {"<b>", "&", '"x"', "<eps>", "x_y%", "שלום", "日本語"} <= set(labels(awkward.draw()))


def test_what_xml_has_no_room_for_is_replaced() -> None:
    lattice = Lattice.from_references(["a\x01b \ufffe c"], engine="plain", text=TextSettings("whitespace"))
    assert {"a�b", "�"} <= set(labels(lattice.draw(title="\x00")))


def test_words_whose_width_is_a_guess_are_held_to_it(awkward: Lattice) -> None:
    held = {
        t.text for t in ElementTree.fromstring(awkward.draw(legend=False)).iter(f"{SVG}text") if t.get("textLength")
    }
    assert held == {"שלום", "عالم", "👩‍👩‍👧"}


def bold(svg: str) -> list[str]:
    texts = ElementTree.fromstring(svg).iter(f"{SVG}text")
    return [text.text or "" for text in texts if text.get("font-weight") == "bold"]


@pytest.mark.parametrize("highlight", [1, 3, CAT[0], "a CAT asleep in a red bowl that sits on a table"])
def test_a_sentence_is_highlighted_by_rank_or_by_its_text(cat: Lattice, highlight: int | str) -> None:
    expected = cat.best(highlight)[-1].text if isinstance(highlight, int) else highlight.lower()
    svg = cat.draw(highlight=highlight)
    letters = [chr(ord("A") + n) for n in range(len(CAT))]
    assert sorted(set(bold(svg)) - set(letters)) == sorted({*expected.split(), expected})
    assert 'class="way"' in svg


def test_nothing_is_highlighted_where_nothing_is_wanted_or_new(cat: Lattice) -> None:
    assert 'class="way"' not in cat.draw(highlight=None)
    assert 'class="way"' not in cat.draw(highlight=0)
    assert 'class="way"' not in Lattice.from_references(["a b"], engine="plain").draw()


@pytest.mark.parametrize(
    ("highlight", "message"),
    [
        ("no such sentence", 'the lattice has no sentence "no such sentence"'),
        (-1, "highlight is -1; give 1 for the best sentence"),
        (100_000, "highlight is 100000, and there are"),
    ],
)
def test_a_sentence_that_is_not_there_cannot_be_highlighted(cat: Lattice, highlight: int | str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        cat.draw(highlight=highlight)


def test_lines_eleven_to_twenty_are_dashed() -> None:
    svg = Lattice.from_references([f"a w{n} b" for n in range(12)], engine="plain").draw()
    assert svg.count("stroke-dasharray") == 2


def test_a_notebook_shows_the_drawing(cat: Lattice) -> None:
    assert cat._repr_svg_() == cat.draw()


@pytest.mark.parametrize("suffix", ["svg", "html", "tex", "dot", "fst", "json"])
def test_the_suffix_decides_the_form(cat: Lattice, suffix: str, tmp_path: Path) -> None:
    cat.save(tmp_path / f"cat.{suffix}", title="The cat")
    content = (tmp_path / f"cat.{suffix}").read_text("utf-8")
    beginnings = {
        "svg": "<svg ",
        "html": "<!doctype html>",
        "tex": "\\documentclass",
        "dot": "digraph",
        "fst": "0\t",
        "json": "{",
    }
    assert content.startswith(beginnings[suffix])
    assert (tmp_path / "cat.syms").exists() == (suffix == "fst")


def test_png_is_drawn(cat: Lattice, tmp_path: Path) -> None:
    pytest.importorskip("resvg_py")
    cat.save(tmp_path / "cat.PNG")
    assert (tmp_path / "cat.PNG").read_bytes().startswith(b"\x89PNG")


def test_png_without_its_renderer_says_what_to_install(
    cat: Lattice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(MissingExtraError, match=r'pip install "polyref\[png\]"'):
        cat.save(tmp_path / "cat.png")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "what"), [("cat.pdf", 'unknown suffix ".pdf"'), ("cat", "no suffix")])
def test_an_unknown_suffix_is_refused(cat: Lattice, name: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(
        SettingsError, match=rf"{what}; end the name in one of .svg, .png, .html, .tex, .dot, .fst, .json"
    ):
        cat.save(tmp_path / name)


def test_an_unknown_theme_is_refused(cat: Lattice, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match='unknown theme "sepia"; choose one of light, dark, auto'):
        cat.save(tmp_path / "cat.svg", theme="sepia")
    with pytest.raises(SettingsError, match='unknown theme "sepia"'):
        cat.draw(theme="sepia")


@pytest.mark.parametrize("references", [*SHAPES.values(), AWKWARD])
def test_tex_closes_what_it_opens(references: list[str], tmp_path: Path) -> None:
    lattice = Lattice.from_references(references, engine="plain", text=TextSettings("whitespace"))
    lattice.save(tmp_path / "drawn.tex", title="100 % {sure}")
    source = (tmp_path / "drawn.tex").read_text("utf-8")
    assert "%" not in source.replace("\\%", "")
    plain = re.sub(r"\\[{}]", "", source)
    depth = 0
    for character in plain:
        depth += (character == "{") - (character == "}")
        assert depth >= 0
    assert depth == 0
    assert re.findall(r"\\begin\{(\w+)\}", source) == ["document", "tikzpicture", "scope"]
    assert all(line.endswith(";") for line in source.splitlines() if line.startswith((r"\draw", r"\fill", r"\path")))


def test_tex_prints_special_characters() -> None:
    assert in_tex(r"a_b \ {x} 5% #1 $2 & ^~ --") == (
        r"a\_b \textbackslash{} \{x\} 5\% \#1 \$2 \& \textasciicircum{}\textasciitilde{} {-}{-}"
    )


def test_dot_has_every_arc_with_a_stripe_for_each_reference(cat: Lattice) -> None:
    dot = as_dot(cat)
    assert dot.count(" -> ") == len(cat.arcs)
    assert '[label="kitchen", color="#cc79a7"];' in dot
    assert '[label="asleep", color="#56b4e9"];' in dot


def test_dot_escapes_words(awkward: Lattice) -> None:
    dot = as_dot(awkward)
    assert all(label in dot for label in ('label="&amp;"', r'label="\"x\""', r'label="\\"'))


def read_fst(machine: str, symbols: str) -> set[tuple[str, ...]]:
    """The sentences of an OpenFst text, as its own tools read it: fields apart by spaces, 0 for no word."""
    table = dict(line.split() for line in symbols.splitlines())
    assert table["<eps>"] == "0"
    assert len(set(table.values())) == len(table)
    arcs: dict[str, list[tuple[str, str]]] = {}
    finals = set()
    for line in machine.splitlines():
        fields = line.split()
        if len(fields) == 1:
            finals.add(fields[0])
        else:
            source, target, read, written = fields
            assert read == written
            assert table[read] != "0"
            arcs.setdefault(source, []).append((target, read))
    sentences = []
    waiting: list[tuple[str, tuple[str, ...]]] = [(machine.split()[0], ())]
    while waiting:
        state, words = waiting.pop()
        if state in finals:
            sentences.append(words)
        waiting += [(target, (*words, word)) for target, word in arcs.get(state, ())]
    assert len(sentences) == len(set(sentences))
    return set(sentences)


@pytest.mark.parametrize("references", [*list(SHAPES.values())[:3], AWKWARD])
def test_each_path_of_the_fst_is_one_sentence(references: list[str]) -> None:
    lattice = Lattice.from_references(references, engine="plain", text=TextSettings("whitespace"))
    expected = {tuple(map(fst_symbol, sentence.words)) for sentence in lattice.sentences()}
    assert read_fst(*as_fst(lattice)) == expected
    assert len(expected) == lattice.count


@pytest.mark.parametrize(
    ("word", "symbol"),
    [
        ("cat", "cat"),
        ("<eps>", r"\<eps>"),
        (r"\<eps>", r"\\<eps>"),
        ("a b", r"a\u0020b"),
        (r"a\u0020b", r"a\\u0020b"),
        ("\U000e0001", r"\U000e0001"),
    ],
)
def test_symbols_have_no_spaces_and_stay_apart(word: str, symbol: str) -> None:
    assert fst_symbol(word) == symbol


def test_json_says_all_that_is_known(cat: Lattice) -> None:
    content = json.loads(as_json(cat))
    assert (content["format"], content["version"]) == ("polyref.lattice", 1)
    assert content["references"] == CAT
    assert (content["states"], content["start"], content["finals"]) == (cat.states, 0, sorted(cat.finals))
    assert (content["sentences"], content["new"], content["pieces"], content["penalty"]) == ("2560", "2555", 1, None)
    assert [(arc["source"], arc["target"], arc["word"]) for arc in content["arcs"]] == [arc[:3] for arc in cat.arcs]
    assert [tuple(arc["references"]) for arc in content["arcs"]] == [arc.references for arc in cat.arcs]


def test_json_keeps_the_way_words_are_written() -> None:
    lattice = Lattice.from_references(["The cat", "the Cat", "The dog"], engine="plain")
    assert [arc["surface"] for arc in json.loads(as_json(lattice))["arcs"]] == ["The", "cat", "dog"]


LONG = "https://example.org/" + "x" * 2000
ENORMOUS = "y" * 900_000


@pytest.mark.parametrize("suffix", ["svg", "html", "tex", "png"])
def test_long_words_are_cut_in_a_drawing(suffix: str, tmp_path: Path) -> None:
    if suffix == "png":
        pytest.importorskip("resvg_py")
    lattice = Lattice.from_references(
        [f"a {LONG} b", f"a c {ENORMOUS}"], engine="plain", text=TextSettings("whitespace")
    )
    path = tmp_path / f"long.{suffix}"
    lattice.save(path, title=ENORMOUS, steps=suffix != "html")
    if suffix != "png":
        content = path.read_text("utf-8")
        assert len(content) < 40_000
        assert f"{LONG[:39]}…" in content
        assert (f"<title>{LONG[:999]}…: A</title>" in content) == (suffix != "tex")


def test_long_words_are_cut_in_a_matrix() -> None:
    lattice = Lattice.from_references([f"a {LONG}", f"a {ENORMOUS} c"], engine="plain", text=TextSettings("whitespace"))
    found = compare(lattice, 0, 1)
    assert f">{LONG[:39]}…<title>{LONG[:999]}…</title></text>" in draw_matrix(found)
    assert len(found.as_table()) < 400


def test_a_picture_with_too_many_pixels_is_refused_before_it_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("resvg_py")
    monkeypatch.setattr(subprocess, "run", None)
    references = [" ".join(f"{'w' * 36}{n}" for n in range(k, k + 50)) for k in range(0, 1000, 50)]
    lattice = Lattice.from_references(references, engine="plain")
    with pytest.raises(SettingsError, match="PNG has room for 50,000,000 pixels, and these are 2,142 by 65,464"):
        lattice.save(tmp_path / "large.png")
    assert not list(tmp_path.iterdir())


def test_nothing_in_the_folder_where_we_are_is_run(
    cat: Lattice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("resvg_py")
    (tmp_path / "resvg_py.py").write_text("raise SystemExit('taken from here')")
    monkeypatch.chdir(tmp_path)
    cat.save("cat.png")


def test_a_text_without_spaces_is_broken_into_lines_and_an_enormous_one_is_cut() -> None:
    chinese = "一只灰色的猫在厨房的桌子上睡觉" * 10
    lines = broken_into_lines(chinese, 13, 600)
    assert "".join(lines) == chinese and len(lines) == 4
    assert "".join(broken_into_lines(ENORMOUS, 13, 600)) == "y" * 399 + "…"
    assert broken_into_lines("a b  c", 13, 600) == ["a b  c"]
