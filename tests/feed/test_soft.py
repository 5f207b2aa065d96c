"""Soft targets: how likely each way to go on should be, and where a stream gives them."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyref.data import sample_examples, write
from polyref.errors import InputError, SettingsError
from polyref.example import Example, Reference
from polyref.expansion import ExpandSettings, expand
from polyref.feed import stream
from polyref.feed.soft import SoftSettings, choices_of, soften
from polyref.fresh import FreshSettings
from polyref.lattice import PlainEngine

soft_settings = st.builds(SoftSettings, st.floats(0, 1), st.floats(0.01, 100))
counts = st.lists(st.integers(1, 1000), min_size=2, max_size=8)


@pytest.fixture(scope="module")
def kept() -> list[Example]:
    settings = ExpandSettings(per_example=8, keep_lattice=True)
    return list(expand(list(sample_examples())[:6], settings=settings, engine=PlainEngine()))


@given(counts, soft_settings)
def test_a_target_is_a_distribution(found, settings):
    weights = soften(found, settings)
    assert len(weights) == len(found)
    assert min(weights) >= 0
    assert sum(weights) == pytest.approx(1)


def test_a_share_of_1_is_what_the_references_say_and_0_what_one_of_them_says():
    assert soften([1, 3], SoftSettings(1.0)) == pytest.approx((0.25, 0.75))
    assert soften([1, 3], SoftSettings(0.5)) == pytest.approx((0.625, 0.375))
    assert soften([1, 3], SoftSettings(0.0)) == (1.0, 0.0)


def test_temperature_evens_out_or_sharpens():
    assert soften([1, 4], SoftSettings(1.0, 2.0)) == pytest.approx((1 / 3, 2 / 3))
    assert soften([1, 4], SoftSettings(1.0, 0.5)) == pytest.approx((1 / 17, 16 / 17))
    assert soften([1, 4], SoftSettings(1.0, 100.0)) == pytest.approx((0.5, 0.5), abs=0.01)
    assert soften([1, 4], SoftSettings(1.0, 0.01)) == pytest.approx((0, 1))


@given(counts, st.floats(0, 1))
def test_the_mean_over_the_references_of_a_place_is_the_same_for_every_share(found, share):
    ways = len(found)
    mean = np.zeros(ways)
    for own, count in enumerate(found):
        others = [way for way in range(ways) if way != own]
        weights = soften([count, *[found[way] for way in others]], SoftSettings(share))
        mean[[own, *others]] += count * np.array(weights)
    assert mean / sum(found) == pytest.approx(np.array(found) / sum(found))


@pytest.mark.parametrize("name", ["first", "sample_one", "uniform", "shuffle"])
def test_pairs_have_choices_gold_ones_and_others_alike(kept, name):
    data = stream(kept, name, soft=SoftSettings(0.5, 2.0), seed=1)
    pairs = list(data.epoch(1))
    by_id = {example.id: example for example in kept}
    for number, pair in enumerate(pairs):
        assert pair == data.pair(number, 1)
        assert (pair.choices,) == tuple(choices_of(by_id[pair.id], [pair.reference], data.settings.soft))
        for start, texts, weights in pair.choices:
            assert pair.reference[start:].startswith(texts[0])
            assert len(texts) == len(weights) > 1
            assert sum(weights) == pytest.approx(1)
    assert all(pair.choices for pair in pairs if not pair.is_gold)
    assert list(pickle.loads(pickle.dumps(data)).epoch(1)) == pairs


def test_without_a_share_there_are_no_choices(kept):
    assert all(pair.choices == () for pair in stream(kept).epoch(0))


def test_fresh_paths_have_choices_too(kept):
    pairs = list(stream(kept, "uniform", fresh=FreshSettings(4), soft=0.5).epoch(3))
    assert any(not pair.is_gold for pair in pairs)
    assert all(pair.choices for pair in pairs if not pair.is_gold)


def test_a_stream_without_kept_lattices_is_refused(kept, tmp_path: Path):
    plain = Example("plain", "s", (Reference("one"),))
    write([*kept, plain], tmp_path / "data.jsonl")
    for data in ([*kept, plain], tmp_path / "data.jsonl"):
        with pytest.raises(InputError, match=r"soft targets need the lattices.*expand it anew with --keep-lattice"):
            stream(data, soft=0.1)
    with pytest.raises(InputError, match='the example "plain" has no kept lattice'):
        choices_of(plain, ["one"], SoftSettings(0.1))
    other = replace(kept[0], references=kept[1].references)
    with pytest.raises(InputError, match=f'the example "{kept[0].id}": the kept lattice does not fit'):
        choices_of(other, ["one"], SoftSettings(0.1))


@pytest.mark.parametrize(("share", "temperature"), [(-0.1, 1), (1.1, 1), (0.5, 0), (0.5, 1000)])
def test_shares_and_temperatures_have_bounds(share, temperature):
    with pytest.raises(SettingsError, match=r"soft_targets is|temperature is"):
        SoftSettings(share, temperature)
