"""Examples become a data set of Hugging Face and come back; epochs become prompts and completions."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import datasets
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyref import Example, Fields, InputError, Losses, MissingExtraError, Reference, expand, render, sample_examples
from polyref.data import Line, parse
from polyref.expansion import ExpandSettings
from polyref.feed import stream
from polyref.feed.huggingface import from_dataset, prompt_dataset, to_dataset

CHAT = [{"role": "user", "content": "Say it in English: Guten Morgen"}]


def record_of(example: Example) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(render(example))
    return found


# -- there and back -------------------------------------------------------------------------------------------------

_letters = "ab é😀\n\t\"',:{}\u2028"
_text = st.text(_letters, max_size=6)
_sentence = _text.filter(lambda text: bool(text) and not text.isspace())
_value = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**66), 2**66) | st.floats(allow_nan=False, allow_infinity=False) | _text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_text, inner, max_size=2),
    max_leaves=4,
)
_reference = _sentence | st.fixed_dictionaries({"text": _sentence, "weight": st.sampled_from([1, 2, 0.25])})
_pseudo = st.fixed_dictionaries(
    {"text": _sentence, "bleu": st.integers(0, 10_000).map(lambda n: n / 100)},
    optional={
        "fluency": st.integers(-90_000, 0).map(lambda n: n / 10_000),
        "content": st.integers(0, 10_000).map(lambda n: n / 10_000),
        "crossings": st.integers(0, 99),
        "risk": st.integers(0, 90_000).map(lambda n: n / 10_000),
        "repeat": st.just(True),
    },
)
_lattice = st.fixed_dictionaries(
    {
        "sentences": st.integers(1, 10**30).map(str),
        "log10_sentences": st.just(0.0),
        "penalty": st.sampled_from([None, 0.6]),
        "exact": st.booleans(),
    }
)
_result = st.just({}) | st.fixed_dictionaries({"pseudo_references": st.lists(_pseudo, max_size=2), "lattice": _lattice})
_record = st.builds(
    lambda fixed, result: fixed | result,
    st.fixed_dictionaries(
        {"source": _value, "references": st.lists(_reference, min_size=1, max_size=3)},
        optional={"note": _value, "year": st.integers(0, 9), "tags": st.lists(_text, max_size=2)},
    ),
    _result,
)


@settings(max_examples=30)
@given(records=st.lists(_record, min_size=1, max_size=4))
def test_what_becomes_a_data_set_comes_back_the_same(records):
    lines = [json.dumps({"id": f"x{n}"} | record).encode() for n, record in enumerate(records)]
    examples = [parse(Line(n, line, 0), "given", Fields()) for n, line in enumerate(lines, 1)]
    found = list(from_dataset(to_dataset(examples)))
    assert found == examples
    for before, after in zip(examples, found, strict=True):
        others = [
            {key: value for key, value in json.loads(one.record or "").items() if key in ("note", "year", "tags")}
            for one in (before, after)
        ]
        # A value that is null, in a column with a type, is a key that the record does not have.
        assert others[1] == {key: value for key, value in others[0].items() if value is not None or key in others[1]}


def test_an_expansion_with_its_lattices_goes_there_and_back():
    chosen = ExpandSettings(per_example=30, shortfall="repeat", fluency=0.5, keep_lattice=True)
    examples = list(expand(sample_examples()[:2], settings=chosen))
    found = list(from_dataset(to_dataset(examples)))
    assert list(map(record_of, found)) == list(map(record_of, examples))


def test_a_data_set_has_plain_columns():
    plain = Example("1", "a photo", (Reference("a cat"), Reference("the cat")))
    found = to_dataset([plain])
    assert found[0] == {"id": "1", "source": "a photo", "references": ["a cat", "the cat"]}
    weighted = to_dataset([plain, Example("2", "another", (Reference("a dog", 2.0),))])
    assert weighted[1]["references"] == [{"text": "a dog", "weight": 2.0}]
    chat = to_dataset([Example("1", CHAT, plain.references)])
    assert json.loads(chat[0]["source:json"]) == CHAT


def test_other_names_and_other_columns_are_read():
    given = datasets.Dataset.from_dict(
        {"prompt": [CHAT], "answers": [["Good morning"]], "score": [0.5], "kind": ["chat"]},
        features=datasets.Features(
            {
                "prompt": datasets.List({"role": datasets.Value("string"), "content": datasets.Value("string")}),
                "answers": datasets.List(datasets.Value("string")),
                "score": datasets.Value("float32"),
                "kind": datasets.ClassLabel(names=["text", "chat"]),
            }
        ),
    )
    [example] = from_dataset(given, Fields(source="prompt", references="answers"))
    assert (example.id, example.source, example.references) == ("1", CHAT, (Reference("Good morning"),))
    assert json.loads(example.record or "") == {"prompt": CHAT, "answers": ["Good morning"], "score": 0.5, "kind": 1}


def test_rows_that_were_chosen_or_put_in_order_are_read_as_they_are_now():
    given = to_dataset(sample_examples()[:9]).select([7, 2, 5]).with_format("torch")
    assert list(from_dataset(given)) == [sample_examples()[7], sample_examples()[2], sample_examples()[5]]


def test_what_an_example_cannot_hold_is_counted():
    given = datasets.Dataset.from_dict({"source": ["s"], "references": [["r"]], "picture": [b"\x00\xff"]})
    losses = Losses()
    assert len(list(from_dataset(given, losses=losses))) == 1
    assert "picture" in str(losses)


def test_nothing_is_left_behind_by_a_reader_that_stops_half_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    examples: Iterator[Example] = from_dataset(to_dataset(sample_examples()))
    next(examples)
    assert list(tmp_path.iterdir())
    examples.close()  # type: ignore[attr-defined]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"source": ["s", "t"], "references": [["r"], []]}, 'the data set:2: "references" is empty; give at least one'),
        ({"source": ["s"], "notes": [["r"]]}, 'the data set: there is no column "references"; name another'),
        ({"source": ["s"], "references": ["r"]}, 'the data set:1: "references" is a string'),
        ({"id": ["1", "1"], "source": ["s"] * 2, "references": [["r"]] * 2}, "the data set:2: "),
    ],
)
def test_what_is_wrong_with_a_data_set_is_said_of_the_data_set(columns, says):
    with pytest.raises(InputError) as refused:
        list(from_dataset(datasets.Dataset.from_dict(columns)))
    assert says in str(refused.value)


def test_an_iterable_data_set_is_read_row_by_row():
    rows = [{"image": "1.jpg", "captions": ["a", "b"], "photo": b"..."}, {"image": "2.jpg", "captions": ["c"]}]
    endless = datasets.IterableDataset.from_generator(lambda: itertools.cycle(rows))
    losses = Losses()
    examples = from_dataset(endless, losses=losses)
    found = list(itertools.islice(examples, 2))
    assert [(one.id, one.source, len(one.references)) for one in found] == [
        ("1.jpg", "1.jpg", 2),
        ("2.jpg", "2.jpg", 1),
    ]
    assert losses.counts == {'values that JSON cannot hold ("photo")': 1}
    with pytest.raises(InputError, match=r'the data set:3: the id "1\.jpg" comes twice'):
        next(examples)


def test_several_splits_are_refused():
    with pytest.raises(InputError, match=r"this is a DatasetDict, neither a datasets\.Dataset nor .*; give one split"):
        from_dataset(datasets.DatasetDict())


# -- what may be missing -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("use", [lambda: to_dataset(sample_examples()), lambda: from_dataset(None)], ids=["to", "from"])
def test_without_datasets_it_is_said_what_to_install(use, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(
        MissingExtraError, match=r'needs datasets; install it with: pip install "polyref\[huggingface\]"'
    ):
        use()


@pytest.mark.parametrize("package", ["transformers", "accelerate"])
def test_without_transformers_it_is_said_what_to_install(package, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "polyref.feed.trainer", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf'needs {package}; install it with: pip install "polyref\[hugg'):
        import_module("polyref.feed.trainer")


# -- prompts and completions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("epoch", [0, 2])
def test_an_epoch_becomes_prompts_and_completions_in_its_order(epoch):
    given = stream(sample_examples()[:20], "sample_one", order="shuffled", seed=1)
    found = prompt_dataset(given, epoch)
    assert found.column_names == ["prompt", "completion"]
    assert found.to_list() == [
        {"prompt": pair.source, "completion": f" {pair.reference}"} for pair in given.epoch(epoch)
    ]


def test_messages_become_messages():
    answers = Reference("Good morning"), Reference("Morning")
    found = prompt_dataset(stream([Example("1", CHAT, answers)], "uniform"))
    assert found.to_list() == [
        {"prompt": CHAT, "completion": [{"role": "assistant", "content": answer.text}]} for answer in answers
    ]


def test_texts_and_messages_together_are_refused():
    mixed = [Example("1", CHAT, (Reference("a"),)), Example("2", "text", (Reference("b"),))]
    with pytest.raises(InputError, match="some sources are texts and some are messages; give all of them one form"):
        prompt_dataset(stream(mixed, "first"))
