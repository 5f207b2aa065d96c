"""Any text of a data set is found at once, in memory and in a folder."""

import gc
import multiprocessing
import pickle
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from samples import caption_lines

from polyref.data import corpus as corpus_module
from polyref.data.corpus import Corpus, about_corpus, open_corpus, save_corpus
from polyref.errors import InputError
from polyref.example import Example, KeptLattice, LatticeSummary, PseudoReference, Reference
from polyref.feed import stream

LATTICE = LatticeSummary(10**30, 0.6, True, KeptLattice(((1, 2), (1, 3)), "whitespace", False))
EXAMPLES = [
    Example("1", "eins", (Reference("one"), Reference("the one")), (PseudoReference("a one", 97.13),)),
    Example("zwei", {"image": 2, "text": "ü\n\t"}, (Reference("two"),)),
    Example("3", None, (Reference("three"), Reference("III")), tuple(PseudoReference(f"p{n}", n) for n in range(3))),
    Example("leer", "", (Reference("日本 語 \u2028 x"),), (PseudoReference("again", 50.0, repeat=True),)),
]


@pytest.fixture(params=["in memory", "in a folder", "large"])
def made(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Makes the corpus of some examples: in memory; in a folder; in one that is too large to be mapped whole."""

    def make(examples: list[Example]) -> Corpus:
        if request.param == "in memory":
            return Corpus.of(examples)
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        save_corpus(examples, folder, {})
        if request.param == "large":
            monkeypatch.setattr(corpus_module, "_LARGE", 0)
            monkeypatch.setattr(corpus_module, "_GAP", 4)
            monkeypatch.setattr(corpus_module, "_PIECE", 16)
        return open_corpus(folder)

    return make


def test_every_text_is_found(made):
    corpus = made(EXAMPLES)
    assert len(corpus) == 4
    for number, example in enumerate(EXAMPLES):
        assert corpus.id(number) == example.id
        assert corpus.source(number) == example.source
        texts = [*example.references, *example.pseudo_references]
        assert [corpus.reference(number, place) for place in range(len(texts))] == [one.text for one in texts]
    assert corpus.starts.tolist() == [0, 3, 4, 9, 11]


def test_many_texts_are_found_in_any_order(made):
    texts = made(EXAMPLES).texts["references"]
    every = [texts[number] for number in range(len(texts))]
    assert len(every) == 11
    for numbers in ([], [0], [10, 0, 10, 3, 3], [9, 8, 7, 1], list(range(11)), list(range(11))[::-1]):
        assert texts.many(np.array(numbers, np.int64)) == [every[number] for number in numbers]
    generator = np.random.default_rng(0)
    for _ in range(20):
        numbers = generator.integers(0, 11, 30)
        assert texts.many(numbers) == [every[number] for number in numbers.tolist()]


def test_an_example_is_put_together_again(made):
    corpus = made(EXAMPLES)
    for number, example in enumerate(EXAMPLES):
        plain = [pseudo._replace(repeat=False) for pseudo in example.pseudo_references]
        assert corpus.example(number) == replace(example, pseudo_references=tuple(plain))


def test_kept_lattices_are_found_again(made):
    examples = [
        Example("1", "s", (Reference("a b"), Reference("a c")), (), LATTICE),
        Example("2", "t", (Reference("a b", 2.0), Reference("A B")), (PseudoReference("a", 1.5),), LATTICE),
    ]
    corpus = made(examples)
    assert corpus.has_lattices
    assert [corpus.example(number) for number in range(2)] == examples
    assert corpus.numbers["new"].tolist() == [2**32 - 1] * 2
    assert not made([*examples, EXAMPLES[0]]).has_lattices
    few = [replace(examples[0], lattice=replace(LATTICE, sentences=5))]
    assert made(few).numbers["new"].tolist() == [3]
    without = [replace(examples[0], lattice=replace(LATTICE, kept=None))]
    assert not made(without).has_lattices
    assert made(without).numbers["new"].tolist() == [0]


def test_weights_take_no_room_where_all_are_1(made):
    assert made(EXAMPLES).weights is None
    weighted = [*EXAMPLES, Example("w", "s", (Reference("x", 2.5), Reference("y", 1e-300)))]
    assert made(weighted).weights.tolist() == [1.0] * 11 + [2.5, 1e-300]


def test_words_are_counted(made):
    corpus = made([Example("1", " ein  Satz ", (Reference("one sentence here"),)), EXAMPLES[1]])
    assert corpus.numbers["source_words"].tolist()[0] == 2
    assert corpus.numbers["reference_words"].tolist() == [3, 1]


@pytest.mark.parametrize(
    ("source", "reference", "broken", "tabbed"),
    [
        ("s", "r", 0, 0),
        ("s\t", "r", 0, 2),
        ("s", "r\nr", 2, 0),
        ("s\r", "r\t", 2, 2),
        (["a\n\t"], "r", 0, 0),  # written as JSON, it has none
    ],
)
def test_the_first_text_with_a_break_is_noted(source, reference, broken, tabbed, made):
    corpus = made([Example("1", "s", (Reference("r"),)), Example("2", source, (Reference(reference),))])
    assert (corpus.broken, corpus.tabbed) == (broken, tabbed)
    line = made([Example("1", source, (Reference(reference),), line=70)])
    assert {line.broken, line.tabbed} <= {0, 70}


def test_a_fingerprint_is_that_of_the_content(tmp_path: Path):
    fingerprint = Corpus.of(EXAMPLES).fingerprint
    save_corpus(EXAMPLES, tmp_path, {})
    assert open_corpus(tmp_path).fingerprint == fingerprint
    one = EXAMPLES[0]
    others = [
        replace(one, id="x"),
        replace(one, source="x"),
        replace(one, source=["eins"]),
        replace(one, references=one.references[::-1]),
        replace(one, references=(Reference("one", 2.0), one.references[1])),
        replace(one, references=(*one.references, Reference("a one")), pseudo_references=()),
        replace(one, references=(Reference("onethe one"),)),
        replace(one, pseudo_references=()),
    ]
    found = {Corpus.of([other, *EXAMPLES[1:]]).fingerprint for other in others}
    assert len(found | {fingerprint}) == len(others) + 1


def ids(corpus: Corpus) -> list[str]:
    return [corpus.id(number) for number in range(len(corpus))]


def test_a_corpus_goes_to_another_process(made):
    corpus = made(EXAMPLES)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(ids, (corpus,)) == ["1", "zwei", "3", "leer"]
    copy = pickle.loads(pickle.dumps(corpus))
    assert copy.example(2) == corpus.example(2)
    assert copy.fingerprint == corpus.fingerprint


def test_a_mapped_corpus_is_small_to_send_and_maps_no_other_one(tmp_path: Path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    save_corpus([Example(str(n), "s" * 100, (Reference("r"),)) for n in range(100)], tmp_path / "one", {})
    save_corpus(EXAMPLES, tmp_path / "other", {})
    sent = pickle.dumps(open_corpus(tmp_path / "one"))
    assert len(sent) < 500
    assert len(pickle.loads(sent)) == 100
    (tmp_path / "one").rename(tmp_path / "older")
    (tmp_path / "other").rename(tmp_path / "one")
    with pytest.raises(InputError, match="the index has changed or gone; start again"):
        pickle.loads(sent)


def test_a_folder_without_a_corpus_is_said_to_be_that(tmp_path: Path):
    assert about_corpus(tmp_path) is None
    assert about_corpus(tmp_path / "nowhere") is None
    with pytest.raises(InputError, match="the index has changed or gone"):
        open_corpus(tmp_path)


HALF = "\ud800"


@pytest.mark.parametrize(
    "example",
    [
        Example(HALF, "s", (Reference("r"),)),
        Example("1", HALF, (Reference("r"),)),
        Example("1", [HALF], (Reference("r"),)),
        Example("1", "s", (Reference(HALF),)),
        Example("1", "s", (Reference("r"),), (PseudoReference(HALF, 1.0),)),
    ],
)
def test_half_a_surrogate_pair_is_refused(example):
    with pytest.raises(InputError, match="holds half a surrogate pair; repair its texts"):
        Corpus.of([example])


def test_no_examples_are_a_corpus_too(made):
    assert len(made([])) == 0


def test_an_index_that_is_let_go_closes_its_files(tmp_path: Path):
    (tmp_path / "captions.jsonl").write_text(caption_lines(3), "utf-8")
    data = stream(tmp_path / "captions.jsonl", index=tmp_path / "index")
    files = [texts.file for texts in data.corpus.texts.values() if texts.file is not None]
    assert files and not any(file.closed for file in files)
    del data
    gc.collect()
    assert all(file.closed for file in files)
