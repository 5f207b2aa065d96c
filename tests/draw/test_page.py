"""A lattice as a page, and several lattices on one page."""

import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

from samples import CAT

from polyref import Lattice
from polyref.draw.page import Exhibit, as_gallery, runs_of

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
    cat.save(tmp_path / "cat.html")
    page = (tmp_path / "cat.html").read_text("utf-8")
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    assert len(re.findall(r"<li [^>]*data-reference=", page)) == len(CAT)
    items = re.findall(r'<li [^>]*data-way="(\d+)" data-nodes="([\d ]+)"><i>100.0</i>([^<]*)</li>', page)
    drawn = dict(re.findall(r'data-node="(\d+)"><title>([^:]*):', page))
    for way, nodes, text in items:
        assert f'<path class="way" data-way="{way}"' in page
        assert [drawn[node] for node in nodes.split() if node in drawn] == text.split()
    assert len(items) == 12


def page_of(*lattices: Lattice) -> str:
    exhibits = [Exhibit(f"No. {n} & more", "a note", one, one.best(2)) for n, one in enumerate(lattices)]
    return as_gallery(exhibits, "Title", ["What it is."])


def test_each_lattice_has_its_map_its_references_and_its_sentences():
    lattice = Lattice.from_references(REFERENCES)
    reader = Reader()
    reader.feed(page_of(lattice, lattice))
    assert reader.tags.count("svg") == 2
    assert reader.tags.count("tr") == 2 * (3 + 2)
    assert "a <small> cat sleeps on the mat" in reader.texts
    assert "No. 1 & more" in reader.texts


def test_the_page_needs_nothing_from_elsewhere():
    page = page_of(Lattice.from_references(REFERENCES))
    assert "src=" not in page
    assert "href=" not in page
    assert "url(" not in page
    assert "@import" not in page


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
