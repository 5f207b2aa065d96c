"""What holds for every data set, epoch and seed; test_drawing_laws.py has what holds by chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyref.schedule import Schedule, ScheduleSettings, Sizes, mixing
from polyref.schedule.batches import BatchSettings, batches

ORDERED = ("first", "sample_one", "uniform")
Pair = tuple[int, int]


@st.composite
def sizes(draw: st.DrawFn) -> Sizes:
    """A few examples; some with pseudo-references, some with weights."""
    counts = draw(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 4)), min_size=1, max_size=12))
    gold, total = [gold for gold, _ in counts], [gold + pseudo for gold, pseudo in counts]
    weight = st.sampled_from([1e-300, 0.5, 1.0, 3.0, 1e300])
    weights = draw(st.none() | st.lists(weight, min_size=sum(total), max_size=sum(total)))
    return Sizes(gold, total, None if weights is None else np.array(weights))


@st.composite
def settings(draw: st.DrawFn, names: tuple[str, ...] = (*ORDERED, "shuffle")) -> ScheduleSettings:
    name = draw(st.sampled_from(names))
    order = draw(st.sampled_from(["given", "shuffled"])) if name in ORDERED else "given"
    share = draw(st.none() | st.sampled_from([0.0, 0.5, 1.0])) if name in ("sample_one", "shuffle") else None
    seed = draw(st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63)]))
    return ScheduleSettings(name, order, seed, name == "shuffle" and draw(st.booleans()), share)


epochs = st.integers(0, 3) | st.just(2**63 - 1)


def pairs_of(schedule: Schedule, epoch: int, **share: int) -> list[Pair]:
    blocks = schedule.blocks(epoch, **share)
    return list(chain(*[zip(block.examples.tolist(), block.references.tolist(), strict=True) for block in blocks]))


def all_pairs(sizes: Sizes) -> list[Pair]:
    return [(example, reference) for example, count in enumerate(sizes.total.tolist()) for reference in range(count)]


@pytest.fixture(scope="module", params=[mixing.SORTED_UP_TO, 0], ids=["sorted", "ciphered"])
def order_made(request: pytest.FixtureRequest) -> Iterator[None]:
    """The test runs twice: small orders are sorted, and they are ciphered as large ones are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mixing, "SORTED_UP_TO", request.param)
        yield


# -- what an epoch holds --------------------------------------------------------------------------------------------


@given(sizes=sizes(), seed=st.integers(-5, 5), epoch=epochs)
def test_uniform_and_shuffle_hold_every_pair_once(order_made, sizes, seed, epoch):
    expected = all_pairs(sizes)
    for name, order in (("uniform", "given"), ("uniform", "shuffled"), ("shuffle", "given")):
        found = pairs_of(Schedule(sizes, ScheduleSettings(name, order, seed)), epoch)
        assert sorted(found) == expected
        if name == "uniform" and order == "given":
            assert found == expected


@given(sizes=sizes(), settings=settings(("sample_one", "first")), epoch=epochs)
def test_first_and_sample_one_hold_every_example_once(order_made, sizes, settings, epoch):
    found = pairs_of(Schedule(sizes, settings), epoch)
    assert sorted(example for example, _ in found) == list(range(sizes.examples))
    assert set(found) <= set(all_pairs(sizes))
    if settings.schedule == "first":
        assert {reference for _, reference in found} == {0}
        assert settings.order == "shuffled" or found == pairs_of(Schedule(sizes, settings), 0)


@given(sizes=sizes(), settings=settings(("shuffle",)), epoch=epochs)
def test_a_shuffle_that_draws_gives_each_example_as_many_places_as_it_has_references(sizes, settings, epoch):
    found = pairs_of(Schedule(sizes, settings), epoch)
    assert set(found) <= set(all_pairs(sizes))
    assert Counter(example for example, _ in found) == Counter(example for example, _ in all_pairs(sizes))


@given(sizes=sizes(), settings=settings(("sample_one", "shuffle")), epoch=epochs)
def test_a_gold_share_of_none_or_all_is_kept_wherever_it_can_be(sizes, settings, epoch):
    for example, reference in pairs_of(Schedule(sizes, settings), epoch):
        gold, total = int(sizes.gold[example]), int(sizes.total[example])
        if settings.gold_share == 1.0:
            assert reference < gold
        if settings.gold_share == 0.0 and total > gold:
            assert reference >= gold


@given(sizes=sizes(), seed=st.integers(-5, 5), epoch=epochs)
def test_under_uniform_the_references_of_an_example_stand_together(order_made, sizes, seed, epoch):
    found = pairs_of(Schedule(sizes, ScheduleSettings("uniform", "shuffled", seed)), epoch)
    examples = list(dict.fromkeys(example for example, _ in found))
    assert found == [(example, reference) for example in examples for reference in range(int(sizes.total[example]))]


# -- any pair, the rest, a share ------------------------------------------------------------------------------------


@given(sizes=sizes(), settings=settings(), epoch=epochs, data=st.data())
def test_a_run_goes_on_anywhere_as_if_it_had_not_stopped(order_made, sizes, settings, epoch, data):
    schedule = Schedule(sizes, settings)
    ranks = data.draw(st.integers(1, 5))
    rank = data.draw(st.integers(0, ranks - 1))
    whole = pairs_of(schedule, epoch, rank=rank, ranks=ranks)
    start = data.draw(st.integers(0, len(whole) + 1))
    size = data.draw(st.sampled_from([1, 3, 1000]))
    # What another epoch has left behind does not matter, nor does a new process.
    pairs_of(schedule, 7)
    again = Schedule(sizes, settings)
    assert pairs_of(again, epoch, rank=rank, ranks=ranks, start=start, size=size) == whole[start:]
    if ranks == 1:
        assert [schedule.pair(number, epoch) for number in range(start, len(whole))] == whole[start:]


@given(sizes=sizes(), settings=settings(), epoch=epochs, ranks=st.integers(1, 9))
def test_ranks_partition_the_epoch(order_made, sizes, settings, epoch, ranks):
    schedule = Schedule(sizes, settings)
    shares = [list(schedule.blocks(epoch, rank=rank, ranks=ranks)) for rank in range(ranks)]
    numbers = [block.numbers.tolist() for share in shares for block in share]
    assert sorted(chain(*numbers)) == list(range(len(schedule)))
    pairs = [pairs_of(schedule, epoch, rank=rank, ranks=ranks) for rank in range(ranks)]
    assert sorted(chain(*pairs)) == sorted(pairs_of(schedule, epoch))


# -- batches --------------------------------------------------------------------------------------------------------


@given(
    sizes=sizes(),
    order=st.sampled_from(["given", "shuffled"]),
    epoch=epochs,
    pairs=st.none() | st.integers(1, 12),
    tokens=st.none() | st.integers(1, 60),
)
def test_grouped_batches_never_split_an_example_that_fits(sizes, order, epoch, pairs, tokens):
    if pairs is None and tokens is None:
        return
    schedule = Schedule(sizes, ScheduleSettings("uniform", order))

    def lengths(some):
        return (some.examples * 3 + some.references * 5) % 8 + 1

    found = list(batches(schedule, epoch, BatchSettings(pairs, tokens), lengths=lengths))
    assert list(chain(*found)) == list(range(len(schedule)))
    looked_up = [schedule.pairs(epoch, np.array(batch)) for batch in found]
    times = Counter(chain(*[set(some.examples.tolist()) for some in looked_up]))
    for example, count in times.items():
        own = np.concatenate([lengths(some)[some.examples == example] for some in looked_up])
        fits = (pairs is None or len(own) <= pairs) and (tokens is None or len(own) * own.max() <= tokens)
        assert count == 1 or not fits
    for some in looked_up:
        assert pairs is None or len(some.numbers) <= pairs
        assert tokens is None or len(some.numbers) == 1 or len(some.numbers) * lengths(some).max() <= tokens


@given(
    sizes=sizes(),
    settings=settings(("first", "sample_one", "shuffle")),
    epoch=epochs,
    pairs=st.integers(1, 12),
    bucket=st.integers(0, 4),
)
def test_batches_hold_every_pair_once(sizes, settings, epoch, pairs, bucket):
    schedule = Schedule(sizes, settings)
    found = list(batches(schedule, epoch, BatchSettings(pairs, bucket=bucket), lengths=lambda some: some.examples % 3))
    assert sorted(chain(*found)) == list(range(len(schedule)))
    assert max(map(len, found)) <= pairs
    assert len(found) == -(-len(schedule) // pairs)
