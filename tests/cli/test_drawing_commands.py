"""`polyref lattice -o`, `--steps` and `polyref align`."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from pathlib import Path

import pytest
from samples import Families

from polyref import AlignSettings
from polyref.data.reading import SAMPLE


def record(id: str, *references: str) -> bytes:
    return json.dumps({"id": id, "references": references}).encode() + b"\n"


TWO = record("x", "a b c d", "a y c d") + record("../odd id", "e f g h", "e z g h")


def test_a_lattice_is_drawn_into_a_file_and_told_about(run, tmp_path: Path) -> None:
    done = run("lattice", "-", "--id", "x", "-o", tmp_path / "x.svg", stdin=TWO)
    assert (done.code, done.err) == (0, f"polyref: {tmp_path / 'x.svg'}: 1 lattice written\n")
    assert done.out == b"x: 2 references, 5 states, 5 arcs; 2 sentences, 0 of them new\n"
    assert (tmp_path / "x.svg").read_text().startswith("<svg")


def drawn(run, folder: Path, pattern: str, *ids: str, verb: str = "lattice") -> list[str]:
    """The files that examples with these ids are drawn into, in the folder; nothing is written outside of it."""
    inner = folder / "inner"
    inner.mkdir()
    stdin = b"".join(record(id, "a b c d", "a y c d") for id in ids)
    done = run(verb, "-", "-o", inner / pattern, "--quiet", stdin=stdin)
    assert (done.code, done.err) == (0, "")
    assert list(folder.iterdir()) == [inner]
    return sorted(str(path.relative_to(inner)) for path in inner.rglob("*") if path.is_file())


def test_a_name_with_id_is_one_file_an_example(run, tmp_path: Path) -> None:
    plain = ["42", "photo-42.jpg", "COCO_val 7", "猫", "{id}"]
    files = drawn(run, tmp_path, "{id}-out-{id}.json", *plain)
    [odd] = set(files) - {f"{id}-out-{id}.json" for id in plain}
    assert re.fullmatch(r"_id_-([0-9a-f]{8})-out-_id_-\1\.json", odd)


@pytest.mark.parametrize("verb", ["lattice", "align"])
@pytest.mark.parametrize("id", ["", ".", "..", "../..", "/", "/tmp/x", "..\x00..", ".hidden", "-o", "a\nb", "\x1b[2J"])
def test_no_id_leads_out_of_its_folder(id: str, verb: str, run, tmp_path: Path) -> None:
    [name] = drawn(run, tmp_path, "{id}/drawn.svg", id, verb=verb)
    assert re.fullmatch(r"[_a]([\w.-]*\w)?-[0-9a-f]{8}/drawn\.svg", name)


@pytest.mark.parametrize(
    "ids",
    [
        ["a/b", "a_b", "a?b"],
        ["a", "A"],
        ["é", "e\u0301", "É", "e\u0300"],
        ["x" * 300, "x" * 301],
        ["🐈" * 90, "🐈" * 91],
    ],
    ids=["replaced", "case", "accents", "long", "long in bytes"],
)
@pytest.mark.parametrize("pattern", ["{id}.svg", "{id}{id}{id}.fst", "{id}/x.svg"])
def test_two_examples_never_share_a_file(pattern: str, ids: list[str], run, tmp_path: Path) -> None:
    """Also where file systems take letters of either case, or both ways to write an accent, for the same."""
    files = [name for name in drawn(run, tmp_path, pattern, *ids) if not name.endswith(".syms")]
    assert len({unicodedata.normalize("NFD", name).casefold() for name in files}) == len(ids)


def test_a_name_that_is_made_for_another_id_is_not_taken_twice(run, tmp_path: Path) -> None:
    [first] = drawn(run, tmp_path, "{id}.svg", "a/b")
    (tmp_path / "other").mkdir()
    assert len(drawn(run, tmp_path / "other", "{id}.svg", first.removesuffix(".svg"), "a/b")) == 2


@pytest.mark.parametrize("pattern", ["{id}.json", "data.json"])
@pytest.mark.parametrize("verb", ["lattice", "align"])
def test_a_drawing_never_replaces_the_data(verb: str, pattern: str, run, tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_bytes(record("data", "a b", "a c"))
    done = run(verb, path, "-o", tmp_path / pattern)
    assert (done.code, path.read_bytes()) == (2, record("data", "a b", "a c"))
    assert "this is the input file; choose another name for the output" in done.err


def test_several_examples_do_not_fit_into_one_file(run, tmp_path: Path) -> None:
    done = run("lattice", "-", "-o", tmp_path / "out.svg", stdin=TWO)
    assert done.code == 2
    assert (
        "has room for one example, and there are several; add --id, write {id} in the name, or write html" in done.err
    )
    assert not list(tmp_path.iterdir())


def test_a_page_takes_all_examples(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = b'{"id": "k", "source": "photo 7", "kind": "caption", "references": ["a b c", "a d c"]}\n'
    large = record("large", *(f"a w{n} b" for n in range(21)))
    done = run("lattice", "-", "-o", tmp_path / "all.html", "--title", "All", "-q", stdin=TWO + kinds + large)
    assert (done.code, done.err, done.out) == (0, "", b"")  # what is on the page is not printed too
    page = (tmp_path / "all.html").read_text("utf-8")
    assert page.count('<details class="one"') == 4 and page.count("<svg") == 3
    assert "<h1>All</h1>" in page and page.count(">large<") == 1 and "photo 7" in page
    assert re.findall(r"<label>(\w+) ", page) == ["references"]  # one kind alone is no choice
    assert "Not drawn: a drawing has room for 20 references" in page
    monkeypatch.setattr("polyref.cli.lattice._MOST_TOGETHER", 3)
    done = run("lattice", "-", "-o", tmp_path / "more.html", stdin=TWO + kinds + large)
    assert done.code == 2
    assert "has room for 3 examples, and there are more; take a part of the file" in done.err
    assert not (tmp_path / "more.html").exists()


@pytest.mark.parametrize(
    ("options", "title"), [([], "k: photo 7"), (["--title", "Mine"], "Mine"), (["--title", ""], None)]
)
@pytest.mark.parametrize("verb", ["lattice", "align"])
def test_a_drawing_is_called_after_its_example(verb: str, options: list[str], title: str | None, run, tmp_path) -> None:
    stdin = b'{"id": "k", "source": "photo 7", "references": ["a b c", "a d c"]}\n'
    assert run(verb, "-", "-o", tmp_path / "k.svg", *options, stdin=stdin).code == 0
    bold = re.findall(r'font-size="17" font-weight="bold"[^>]*>([^<]*)<', (tmp_path / "k.svg").read_text("utf-8"))
    assert bold == ([title] if title else [])


@pytest.mark.parametrize("verb", ["lattice", "align"])
def test_an_unknown_suffix_is_said_before_anything_is_read(verb: str, run, tmp_path: Path) -> None:
    done = run(verb, tmp_path / "missing.jsonl", "-o", tmp_path / "out.pdf")
    assert done.code == 2
    assert 'unknown suffix ".pdf"; end the name in one of .svg, .png, .html' in done.err


@pytest.mark.parametrize(
    ("highlight", "code", "expected"),
    [
        ("1", 0, 'class="way"'),
        ("0", 0, "</svg>"),
        ("a q c d e", 0, "a q c d e"),
        ("a b", 2, 'the lattice has no sentence "a b"'),
        ("9", 2, "highlight is 9, and there are"),
    ],
)
def test_the_highlight_is_a_rank_or_a_text(highlight: str, code: int, expected: str, run, tmp_path: Path) -> None:
    stdin = record("x", "a b c d e", "a q c d f")
    done = run("lattice", "-", "-o", tmp_path / "x.svg", "--highlight", highlight, stdin=stdin)
    assert done.code == code
    assert expected in (done.err if code else (tmp_path / "x.svg").read_text())


def test_steps_are_told_and_drawn(run, tmp_path: Path) -> None:
    stdin = record("x", "a b c", "a y c", "z b c")
    done = run("lattice", "-", "--steps", "-o", tmp_path / "x.svg", stdin=stdin)
    assert done.out.decode().splitlines()[1:] == [
        "   (a)  side by side: 3 sentences",
        "   (b)  A and B merged, 2 links: 3 sentences",
        "   (c)  A and C merged, 2 links: 4 sentences",
    ]
    assert "(c)" in (tmp_path / "x.svg").read_text()
    [report] = map(json.loads, run("lattice", "-", "--steps", "--json", stdin=stdin).out.splitlines())
    assert report["steps"][1] == {"pair": [0, 1], "links": 2, "worth": 1.0, "sentences": "3"}


def test_an_alignment_is_a_table_on_the_terminal(run) -> None:
    done = run("align", "-", "--id", "x", "--pair", "0", "1", stdin=TWO)
    assert done.out.decode().splitlines()[0] == "x"
    assert done.out.decode().splitlines()[-1] == "3 links between equal words"
    assert run("align", "-", "--id", "x", "--pair", "A", "b", stdin=TWO).out == done.out


def test_an_alignment_is_drawn_or_written_as_json(run, tmp_path: Path) -> None:
    assert run("align", "-", "--id", "x", "-o", tmp_path / "m.svg", "--theme", "dark", stdin=TWO).code == 0
    assert "#15181d" in (tmp_path / "m.svg").read_text()
    [one] = map(json.loads, run("align", "-", "--id", "x", "--json", stdin=TWO).out.splitlines())
    assert one["links"] == [[0, 0], [2, 2], [3, 3]]


@pytest.mark.parametrize(
    ("pair", "problem"),
    [
        (("0", "2"), "there is no reference 2; they are counted from 0 to 1"),
        (("0", "0"), "references 0 and 0 are the same"),
        (("0", "?"), 'there is no reference "?"; give numbers from 0 on, or letters as in drawings'),
    ],
)
def test_a_pair_without_sense_is_refused(pair: tuple[str, str], problem: str, run) -> None:
    done = run("align", "-", "--pair", *pair, stdin=TWO)
    assert done.code == 2
    assert problem in done.err


DOGS = b'{"id": "x", "source": 1, "references": ["two dogs , left", "three dogs . right"]}'
ALIKE = Families([(1.0, "two three"), (1.0, "left right"), (1.0, ". ,")])
USUAL = AlignSettings().position


@pytest.mark.parametrize(
    ("options", "linked", "loss"),
    [
        ([], [1], USUAL),
        (["--veto", "numbers,marks"], [1, 3], USUAL),
        (["--veto", "none"], [0, 1, 2, 3], USUAL),
        (["--veto", "none", "--position", "0"], [0, 1, 2, 3], 0),
        (["--position", "0.3"], [1], 0.3),
        (["--preset", "paper"], [0, 1, 2, 3], 0),
        (["--preset", "paper", "--veto", "contrasts", "--position", "0.1"], [0, 1, 2], 0.1),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) and value and isinstance(value[0], str) else "",
)
def test_an_alignment_shows_what_veto_and_position_do(options, linked, loss, run, tmp_path: Path) -> None:
    soft = ["--align", "soft", "--encoder", ALIKE.save(tmp_path / "alike.npz"), "--similarity", "cosine"]
    [one] = map(json.loads, run("align", "-", "--json", *soft, *options, stdin=DOGS).out.splitlines())
    assert one["links"] == [[place, place] for place in linked]
    assert one["similarity"][0][3] == -loss  # words that have nothing in common, at opposite ends
    vetoed = [[place, place] for place in range(4) if place not in linked]
    assert [pair for pair in one["vetoed"] if pair[0] == pair[1]] == vetoed
    assert {one["similarity"][u][v] for u, v in one["vetoed"]} <= {-1}


def test_hard_alignment_knows_no_veto_and_no_position(run) -> None:
    plain = json.loads(run("align", "-", "--json", stdin=DOGS).out)
    assert plain["vetoed"] == []
    assert {value for row in plain["similarity"] for value in row} == {0, 1}


@pytest.mark.parametrize(
    ("verb", "option", "value"),
    [
        ("align", "--veto", "marks"),
        ("align", "--veto", "none"),
        ("align", "--position", "0"),
        ("lattice", "--penalty", "0.5"),
        ("lattice", "--penalty", "adaptive"),
        ("expand", "--similarity", "rescaled"),
        ("expand", "--baseline", "0.1"),
        ("expand", "--encoder", "english"),
        ("align", "--encoder", "english"),
    ],
)
def test_hard_alignment_refuses_what_belongs_to_soft_alignment(verb: str, option: str, value: str, run) -> None:
    for preset in ([], ["--preset", "paper"]):
        done = run(verb, "-", option, value, *preset, stdin=DOGS)
        assert (done.code, done.out) == (2, b"")
        assert f"{option} has no effect without --align soft; add that, or leave it out" in done.err


def test_a_name_with_an_id_need_not_be_utf_8(run, tmp_path: Path) -> None:
    done = run("lattice", SAMPLE, "--id", "caption-01-harbour", "-o", tmp_path / os.fsdecode(b"{id}\xff.svg"))
    assert done.code == 0, done.err
    assert [os.fsencode(path.name) for path in tmp_path.iterdir()] == [b"caption-01-harbour\xff.svg"]
