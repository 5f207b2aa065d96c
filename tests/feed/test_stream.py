"""A data set under a schedule: pairs with their texts."""

import hashlib
import json
import pickle
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polyref.data import sample_examples, write
from polyref.errors import InputError, SettingsError
from polyref.example import Example, PseudoReference, Reference
from polyref.expansion import ExpandSettings, Tools, expand
from polyref.feed import Pair, Stream, StreamSettings, stream
from polyref.feed.soft import SoftSettings
from polyref.fresh import FreshSettings
from polyref.lattice import PlainEngine

EXAMPLES = [
    Example("a", "ein Satz", (Reference("one", 3.0), Reference("the one")), (PseudoReference("a one of them", 97.13),)),
    Example("b", {"image": 7}, (Reference("two"),)),
    Example("c", "", (Reference("three"),), tuple(PseudoReference(f"p{n}", 90.0 - n) for n in range(4))),
]
NAMES = ["first", "sample_one", "uniform", "shuffle"]


def texts(stream: Stream, epoch: int = 0, **share: int) -> list[str]:
    return [pair.reference for pair in stream.epoch(epoch, **share)]


def test_pairs_say_what_they_are():
    pairs = list(stream(EXAMPLES, "uniform").epoch(0))
    assert pairs[0] == Pair("a", "ein Satz", "one", True)
    assert pairs[2] == Pair("a", "ein Satz", "a one of them", False, 97.13)
    assert pairs[3] == Pair("b", {"image": 7}, "two", True)
    assert len(pairs) == 9


def test_a_schedule_that_there_is_not_is_refused_in_the_words_of_the_call():
    with pytest.raises(SettingsError, match=r'^schedule is "foo"; choose one of first'):
        stream(EXAMPLES, "foo")


@pytest.mark.parametrize("name", NAMES)
def test_any_pair_is_what_stands_there_in_the_epoch(name):
    data = stream(EXAMPLES, name, seed=4)
    for epoch in range(3):
        whole = list(data.epoch(epoch))
        assert [data.pair(number, epoch) for number in range(len(data))] == whole
        assert list(data.epoch(epoch, start=2)) == whole[2:]
        block = next(data.schedule.blocks(epoch))
        assert data.references(block) == [pair.reference.encode() for pair in whole]
        assert list(data.some(block)) == whole


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(1, [2, 1, 1]), (2, [2, 1, 2]), (3, [3, 1, 3]), (5, [3, 1, 5]), (100, [3, 1, 5]), (None, [3, 1, 5])],
)
def test_a_limit_keeps_all_gold_references_and_the_best_others(limit, expected):
    data = stream(EXAMPLES, "uniform", limit=limit)
    assert data.schedule.sizes.total.tolist() == expected
    limited = [example if limit is None else example.limited(limit) for example in EXAMPLES]
    assert texts(data) == [one.text for each in limited for one in (*each.references, *each.pseudo_references)]


def test_gold_only_leaves_pseudo_references_out():
    assert all(pair.is_gold for pair in stream(EXAMPLES, "shuffle", gold_only=True).epoch(0))
    assert len(stream(EXAMPLES, "shuffle", gold_only=True)) == 4


def test_weights_are_those_of_the_references_that_take_part():
    for limit, expected in ((None, [3, 1, 1, 1, 1, 1, 1, 1, 1]), (2, [3, 1, 1, 1, 1])):
        assert stream(EXAMPLES, "sample_one", limit=limit).schedule.sizes.weights.tolist() == expected
    assert stream(EXAMPLES, "uniform").schedule.sizes.weights is None
    assert stream(EXAMPLES[1:], "sample_one").schedule.sizes.weights is None


def test_a_weight_decides_how_often_a_reference_is_drawn():
    data = stream(EXAMPLES, "sample_one", gold_only=True, seed=1)
    counts = Counter(data.pair(0, epoch).reference for epoch in range(2000))
    assert 1400 < counts["one"] < 1600  # 1500 are expected; the bounds are five standard errors away
    assert counts["one"] + counts["the one"] == 2000


@pytest.mark.parametrize("weight", [0.0, -1.0, float("nan"), float("inf")])
def test_a_weight_that_cannot_be_drawn_by_is_refused(weight):
    examples = [Example("1", "s", (Reference("r", weight), Reference("t")))]
    with pytest.raises(SettingsError, match="give each a number above 0"):
        stream(examples, "sample_one")


def test_no_examples_and_examples_without_references_are_refused():
    with pytest.raises(SettingsError, match="there are no examples"):
        stream([])
    with pytest.raises(SettingsError, match="an example has no gold reference"):
        stream([Example("1", "s", ())])


def test_the_length_of_a_pair_is_that_of_its_longer_side():
    data = stream(EXAMPLES, "uniform")
    [block] = data.schedule.blocks(0)
    assert data.lengths(block).tolist() == [2, 2, 4, 2, 1, 1, 1, 1, 1]


def test_a_fingerprint_names_all_that_the_pairs_depend_on():
    makers = [{}, {"seed": 1}, {"limit": 3}, {"gold_only": True}, {"draw": True}, {"gold_share": 0.5}]
    found = {stream(EXAMPLES, **maker).fingerprint for maker in makers}
    found |= {stream(EXAMPLES, "uniform").fingerprint, stream(EXAMPLES, "uniform", order="shuffled").fingerprint}
    assert len(found) == 8
    assert stream(EXAMPLES[:2]).fingerprint not in found
    assert stream(EXAMPLES).fingerprint in found


def test_a_file_and_its_examples_make_the_same_stream(tmp_path: Path):
    write(EXAMPLES, tmp_path / "data.jsonl")
    for data in (tmp_path / "data.jsonl", str(tmp_path / "data.jsonl"), [tmp_path / "data.jsonl"]):
        found = stream(data, seed=2)
        assert found.fingerprint == stream(iter(EXAMPLES), seed=2).fingerprint
        assert list(found.epoch(5)) == list(stream(EXAMPLES, seed=2).epoch(5))


def test_a_stream_of_a_file_knows_its_folder_and_its_changes(tmp_path: Path):
    path = tmp_path / "data.jsonl"
    write(EXAMPLES, path)
    stream(path, index=tmp_path / "indexes")
    assert len(list((tmp_path / "indexes").iterdir())) == 1
    write(EXAMPLES[:2], path)
    assert len(stream(path, index=tmp_path / "indexes")) == 4


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_goes_to_another_process(name, tmp_path: Path):
    write(EXAMPLES, tmp_path / "data.jsonl")
    for data in (stream(EXAMPLES, name), stream(tmp_path / "data.jsonl", name)):
        copy = pickle.loads(pickle.dumps(data))
        assert list(copy.epoch(1)) == list(data.epoch(1))
        assert copy.fingerprint == data.fingerprint


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"limit": 0}, "limit is 0; give a whole number from 1 to less than 2^31"),
        ({"limit": 3, "gold_only": True}, "limit does not cut gold references; leave it out, or leave gold_only out"),
        ({"fresh": FreshSettings(2), "limit": 3}, "limit does not go with fresh paths, which have a number of their"),
        ({"fresh": FreshSettings(2), "gold_only": True}, "gold_only does not go with fresh paths, which have a numb"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, says):
    with pytest.raises(SettingsError) as refused:
        StreamSettings(**settings)
    assert says in str(refused.value)


def test_an_epoch_below_0_and_a_schedule_that_is_none_are_refused():
    with pytest.raises(SettingsError, match="the epoch is -1; give 0 or more"):
        list(stream(EXAMPLES).epoch(-1))
    with pytest.raises(SettingsError, match="did you mean shuffle"):
        stream(EXAMPLES, "shufle")
    with pytest.raises(IndexError, match="there is no pair 9"):
        stream(EXAMPLES).pair(9)


# -- fresh paths ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kept() -> list[Example]:
    settings = ExpandSettings(per_example=8, keep_lattice=True)
    return list(expand(list(sample_examples())[:6], settings=settings, engine=PlainEngine()))


@pytest.fixture(scope="module")
def tools() -> Tools:
    return Tools(PlainEngine())


def fresh_stream(kept, tools, name: str = "uniform", seed: int = 0, each: int = 3, **settings) -> Stream:
    return stream(kept, name, seed=seed, fresh=FreshSettings(each, **settings), tools=tools)


def test_fresh_paths_are_sentences_of_the_lattice(kept, tools):
    by_id = {example.id: example for example in kept}
    lattices: dict[str, set[str]] = {}
    for pair in fresh_stream(kept, tools).epoch(0):
        gold = {reference.text for reference in by_id[pair.id].references}
        assert pair.is_gold == (pair.bleu is None)
        if pair.is_gold:
            assert pair.reference in gold
            continue
        assert pair.reference not in gold
        assert pair.bleu >= 60
        lattices.setdefault(pair.id, set()).add(pair.reference)
    assert lattices
    for id, found in lattices.items():
        words = {word for reference in by_id[id].references for word in reference.text.lower().split()}
        assert all(word in words for text in found for word in text.lower().split())


def test_fresh_paths_change_with_the_epoch_and_the_seed_and_with_nothing_else(kept, tools):
    data = fresh_stream(kept, tools)
    before = texts(data, 0)
    assert texts(data, 1) != before
    assert texts(data, 0) == before
    assert texts(fresh_stream(kept, tools), 0) == before
    assert texts(fresh_stream(kept, tools, seed=1), 0) != before
    assert texts(pickle.loads(pickle.dumps(data)), 0) == before


@pytest.mark.parametrize("name", ["sample_one", "uniform", "shuffle"])
@pytest.mark.parametrize("by", ["uniform", "rank"])
def test_any_pair_has_the_text_that_it_has_in_its_epoch(name, by, kept, tools):
    data = fresh_stream(kept, tools, name, by=by)
    for epoch in (0, 2):
        whole = texts(data, epoch)
        numbers = np.random.default_rng(1).permutation(len(data)).tolist()
        other = fresh_stream(kept, tools, name, by=by)
        assert {number: other.pair(number, epoch).reference for number in numbers} == dict(enumerate(whole))
        assert texts(other, epoch, start=4) == whole[4:]
        [block] = other.schedule.blocks(epoch)
        assert data.references(block) == [text.encode() for text in whole]


def test_shuffle_holds_the_fresh_paths_of_uniform(kept, tools):
    uniform, shuffle = (fresh_stream(kept, tools, name) for name in ("uniform", "shuffle"))
    assert sorted(texts(uniform, 3)) == sorted(texts(shuffle, 3))


def test_an_example_has_so_many_fresh_paths(kept, tools):
    counts = Counter(pair.id for pair in fresh_stream(kept, tools, each=3).epoch(0))
    for example in kept:
        new = example.lattice.sentences - len({reference.text.casefold() for reference in example.references})
        assert counts[example.id] == len(example.references) + min(3, new)


def test_where_few_pass_they_are_said_again(kept, tools):
    data = fresh_stream(kept, tools, each=50, min_bleu=100.0)
    assert len(texts(data)) == len(data)
    for pair in data.epoch(0):
        assert pair.is_gold or pair.bleu == 100


def test_fresh_paths_without_kept_lattices_are_refused(kept, tools):
    for examples in (EXAMPLES, [*kept, EXAMPLES[0]]):
        with pytest.raises(InputError) as refused:
            fresh_stream(examples, tools)
        assert "the file has not kept them for every example; expand it anew with --keep-lattice" in str(refused.value)


def as_text(source):
    return source if isinstance(source, str) else json.dumps(source, ensure_ascii=False)


def test_the_length_of_a_fresh_path_is_its_own():
    examples = list(expand(sample_examples(), settings=ExpandSettings(5, keep_lattice=True)))
    pairs = stream(examples, "uniform", fresh=5)
    lengths = pairs.lengths(next(pairs.schedule.blocks(3)))
    found = [len(pair.reference.split()) for pair in pairs.epoch(3)]
    sources = [len(as_text(pair.source).split()) for pair in pairs.epoch(3)]
    assert lengths.tolist() == [max(both) for both in zip(found, sources, strict=True)]


def test_gold_that_stands_in_for_fresh_paths_is_gold():
    examples = list(expand(sample_examples(), settings=ExpandSettings(5, keep_lattice=True)))
    pairs = stream(examples, "uniform", fresh=FreshSettings(3, min_bleu=100))
    texts = {example.id: {reference.text for reference in example.references} for example in examples}
    for pair in pairs.epoch(0):
        assert pair.is_gold == (pair.bleu is None) == (pair.reference in texts[pair.id])
    assert pairs.short > 0


# -- weights by judgement -------------------------------------------------------------------------------------------


JUDGED = [
    Example(
        "a",
        "s",
        (Reference("gold", 2.0),),
        (PseudoReference("x", 80.0, crossings=1), PseudoReference("y", 40.0, crossings=3), PseudoReference("z", 0.0)),
    ),
]


def test_pseudo_references_weigh_what_their_bleu_says():
    def weights(**settings) -> list[float]:
        return stream(JUDGED, "sample_one", **settings).schedule.sizes.weights.tolist()

    assert weights() == [2, 1, 1, 1]
    assert weights(weights="bleu") == pytest.approx([2, 0.8, 0.4, 0.01])
    assert weights(weights="bleu", weight_power=2) == pytest.approx([2, 0.64, 0.16, 0.0001])
    assert weights(weights="bleu", limit=2) == pytest.approx([2, 0.8])
    assert weights(weights="crossings", limit=3, weight_power=0.5) == pytest.approx([2, 0.5**0.5, 0.5])


def test_a_file_and_its_index_keep_the_judgements(tmp_path: Path):
    example = replace(JUDGED[0], pseudo_references=JUDGED[0].pseudo_references[:2])
    write([example], tmp_path / "data.jsonl")
    for judgement in ("bleu", "crossings"):
        for _ in range(2):  # the second time from the index
            found = stream(tmp_path / "data.jsonl", "sample_one", weights=judgement, index=tmp_path / "indexes")
            expected = stream([example], "sample_one", weights=judgement)
            assert found.schedule.sizes.weights.tolist() == expected.schedule.sizes.weights.tolist()
            assert found.fingerprint == expected.fingerprint


def test_references_are_drawn_by_their_judgement():
    data = stream(JUDGED, "shuffle", weights="crossings", gold_share=0.0, limit=3)
    counts = Counter(text for epoch in range(500) for text in texts(data, epoch))
    assert counts.total() == 1500
    assert 920 < counts["x"] < 1080  # 1000 are expected; the bounds are more than four standard errors away


def test_crossings_that_were_not_counted_are_refused():
    with pytest.raises(InputError, match=r"weights by crossings need that judgement.*expand it anew"):
        stream(JUDGED, "sample_one", weights="crossings")
    repeated = replace(JUDGED[0], pseudo_references=(PseudoReference("gold", 100.0, repeat=True),))
    assert stream([repeated], "sample_one", weights="crossings").schedule.sizes.weights.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({}, "weights has no effect where nothing is drawn; choose the schedule sample-one, or set draw"),
        ({"gold_only": True, "draw": True}, "weights is for the pseudo-references of the file, and gold ones are"),
        ({"fresh": 3, "draw": True}, "weights is for the pseudo-references of the file, and fresh paths take their"),
        ({"weight_power": 0, "draw": True}, "weight_power is 0; give a number above 0 and at most 100"),
    ],
)
def test_weights_that_would_have_no_effect_are_refused(settings, says):
    with pytest.raises(SettingsError) as refused:
        stream(JUDGED, "shuffle", weights="bleu", **settings)
    assert says in str(refused.value)


def test_what_is_off_leaves_fingerprints_as_they_were():
    """A run that began before there were weights by judgement and soft targets goes on."""
    scheduled = "ScheduleSettings(schedule='shuffle', order='given', seed=0, draw=False, gold_share=None)"
    named = f"StreamSettings(schedule={scheduled}, limit=3, gold_only=False, fresh=None)"
    data = stream(EXAMPLES, limit=3)
    expected = hashlib.blake2b(f"{data.corpus.fingerprint}{named}".encode(), digest_size=16).hexdigest()
    off = [stream(EXAMPLES, limit=3, **more) for more in ({}, {"weight_power": 3.0}, {"soft": SoftSettings(0.0, 3.0)})]
    assert {one.fingerprint for one in off} == {expected}


def test_a_fingerprint_names_weights_and_the_judgements_they_come_from(kept):
    other = [replace(JUDGED[0], pseudo_references=(PseudoReference("x", 70.0), *JUDGED[0].pseudo_references[1:]))]
    found = [stream(data, "sample_one", weights="bleu").fingerprint for data in (JUDGED, other)]
    found += [stream(data, "sample_one").fingerprint for data in (JUDGED, other)]
    found.append(stream(JUDGED, "sample_one", weights="bleu", weight_power=2).fingerprint)
    assert len(set(found)) == 4  # without weights, no pair depends on a judgement
    soft = {stream(kept, soft=SoftSettings(*one)).fingerprint for one in ((), (0.5,), (0.6,), (0.5, 2.0))}
    assert len(soft) == 4
