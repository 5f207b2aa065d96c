"""A lattice as a page, and several lattices on one page."""

import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from samples import CAT

from polyref import Lattice
from polyref.draw import save_matrix
from polyref.draw.aligned import compare
from polyref.draw.page import Exhibit, as_page, draw_exhibit, runs_of

REFERENCES = ["a <small> cat sleeps on the mat", "the cat is asleep on a rug", "a cat naps on the mat today"]


class Reader(HTMLParser):
    """Which tags there were, and which texts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


def test_the_page_lists_references_and_sentences_with_their_ways(tmp_path: Path) -> None:
    cat = Lattice.from_references(CAT, engine="plain")
    cat.save(tmp_path / "cat.html", title="The cat")
    page = (tmp_path / "cat.html").read_text("utf-8")
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    assert "<h1>The cat</h1>" in page and "<th>BLEU</th>" in page
    assert len(re.findall(r"<tr [^>]*data-reference=", page)) == len(CAT)
    rows = re.findall(r'<tr[^>]* data-way="(\d+)" data-nodes="([\d ]+)"><td>100.0</td><td dir="auto">(.*?)</td>', page)
    drawn = dict(re.findall(r'data-node="(\d+)"><title>([^:]*):', page))
    for way, nodes, text in rows:
        assert re.search(f'<path class="way( on)?" data-way="{way}"', page)
        words = re.sub("<[^>]*>", "", text).split()
        assert [drawn[node] for node in nodes.split() if node in drawn] == words
    assert len(rows) == 6


def page_of(*lattices: Lattice) -> str:
    exhibits = [Exhibit(f"No. {n} & more", "a note", one, one.best(2)) for n, one in enumerate(lattices)]
    return as_page([draw_exhibit(exhibit) for exhibit in exhibits], "Title")


def test_each_lattice_has_its_map_its_references_and_its_sentences():
    lattice = Lattice.from_references(REFERENCES)
    reader = Reader()
    reader.feed(page_of(*[lattice] * 9))
    assert reader.tags.count("svg") == 9
    assert reader.tags.count("tr") == 9 * (3 + 2 + 2)
    assert reader.texts.count("a <small> cat sleeps on the mat") == 9
    assert {"No. 1 & more ", "No. 1 & more"} <= set(reader.texts)  # in the contents, and over its map


def test_a_page_of_many_has_filters_for_what_tells_them_apart():
    lattice = Lattice.from_references(REFERENCES)
    facets = [{"task": "caption", "set": "x"}, {"task": "a <b>", "set": "x", "language": '"><script>'}, {}]
    page = as_page([draw_exhibit(Exhibit("one", "", lattice, [], facet)) for facet in facets], "Title")
    assert re.findall(r"<label>(\w+) ", page) == ["task"]
    assert re.findall(r'data-facets="([^"]*)"', page) == ["1", "0", "-"]
    assert "a &lt;b&gt;</option>" in page and page.count("<script>") == 1


def test_the_page_needs_nothing_from_elsewhere():
    page = page_of(Lattice.from_references(REFERENCES), Lattice.from_references(CAT))
    assert "src=" not in page
    assert set(re.findall("href=.", page)) == {'href="'} and set(re.findall('href="(.)', page)) == {"#"}
    assert "url(" not in page
    assert "@import" not in page


HOSTILE = [
    "<script>alert(1)</script> </style> </svg> x",
    "\u202eabc\u2066 \u202b<img/onerror=1> 'x\" y",
    "]]> <!-- a -->",
]


@pytest.mark.parametrize("suffix", ["html", "svg"])
@pytest.mark.parametrize("steps", [False, True])
def test_text_of_data_is_never_interpreted(suffix: str, steps: bool, tmp_path: Path) -> None:
    for text in HOSTILE:
        lattice = Lattice.from_references([f"{text} one two three four", f"{text} one 2 three four z"], engine="plain")
        lattice.save(tmp_path / f"drawn.{suffix}", title=text, steps=steps)
        check_harmless((tmp_path / f"drawn.{suffix}").read_text("utf-8"))
        comparison = compare(lattice, 0, 1)
        save_matrix(comparison, tmp_path / f"matrix.{suffix}", title=text)
        check_harmless((tmp_path / f"matrix.{suffix}").read_text("utf-8"))
        exhibit = Exhibit(text, text, lattice, lattice.best(2), {text: text, "n": "1"}, frozenset([text]))
        other = Exhibit("", "", lattice, [], {text: "other", "n": "2"})
        check_harmless(as_page([draw_exhibit(exhibit), draw_exhibit(other)], text))


def check_harmless(written: str) -> None:
    """Every tag is one of ours, and nothing turns the direction of writing."""
    reader = Reader()
    reader.feed(written)
    page = [
        "html",
        "meta",
        "title",
        "style",
        "script",
        "main",
        "h1",
        "h2",
        "p",
        "div",
        "span",
        "details",
        "summary",
        "table",
        "tr",
        "th",
        "td",
        "b",
        "figure",
        "figcaption",
    ]
    form = ["form", "input", "label", "select", "option", "output", "button", "nav", "a"]
    assert set(reader.tags) <= {*page, *form, "svg", "rect", "path", "g", "text", "circle", "polyline"}
    assert reader.tags.count("script") == written.startswith("<!doctype")
    assert not re.search("[\u2028-\u202e\u2066-\u2069]", written)


def test_a_lattice_without_new_sentences_is_shown_all_the_same():
    page = page_of(Lattice.from_references(["one reference alone"]))
    assert "one reference alone" in page


def test_the_runs_of_a_sentence_are_its_text_and_each_is_said_by_its_reference():
    lattice = Lattice.from_references(REFERENCES)
    for sentence in lattice.sentences():
        runs = runs_of(sentence)
        assert "".join(text for text, _ in runs) == sentence.text
        assert all(one != other for (_, one), (_, other) in pairwise(runs))
        position = 0
        for text, reference in runs:
            words = len(text.replace("<", " < ").replace(">", " > ").split())
            assert all(reference in origins for origins in sentence.origins[position : position + words])
            position += words
        assert position == len(sentence.words)


def test_a_gold_reference_is_one_run():
    lattice = Lattice.from_references(REFERENCES)
    runs = [runs_of(sentence) for sentence in lattice.sentences() if sentence.text == REFERENCES[1]]
    assert runs == [[(REFERENCES[1], 1)]]
