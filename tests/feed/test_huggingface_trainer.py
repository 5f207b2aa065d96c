"""A Trainer sees what the schedule says: each epoch, after a checkpoint, and shared among processes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate.data_loader import BatchSamplerShard, SkipBatchSampler
from hypothesis import given
from hypothesis import strategies as st
from tiny_t5 import Encode, Seen, arguments, tiny_t5, word_tokenizer
from transformers import DataCollatorForSeq2Seq, Seq2SeqTrainer, TrainerCallback

from polyref import Example, Reference, SettingsError
from polyref.feed import Stream, stream
from polyref.feed.pytorch import PairDataset
from polyref.feed.trainer import NOTES, EpochBatches, Scheduled
from polyref.schedule.batches import BatchSettings, batches

COUNTS = [3, 1, 4, 2, 3, 1, 4]
EXAMPLES = [
    Example(f"{n}", f"source{n} here", tuple(Reference(f"reference{n}-{k} of {count}") for k in range(count)))
    for n, count in enumerate(COUNTS)
]
TOKENIZER = word_tokenizer(
    text for example in EXAMPLES for text in (example.source, *(one.text for one in example.references))
)
SCHEDULES = [
    ("first", "given"),
    ("sample_one", "given"),
    ("uniform", "given"),
    ("uniform", "shuffled"),
    ("shuffle", "given"),
]


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Threads cost more than such a model does."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class Trainer(Scheduled, Seq2SeqTrainer):
    pass


def made(stream: Stream, folder: Path, kind: type = Trainer, **more: Any) -> tuple[Seq2SeqTrainer, Seen]:
    """A trainer of a tiny model, and what the model sees."""
    model = tiny_t5(TOKENIZER)
    trainer = kind(
        model=model,
        args=arguments(folder, **more),
        train_dataset=PairDataset(stream, Encode(TOKENIZER)),
        data_collator=DataCollatorForSeq2Seq(TOKENIZER, model=model),
        processing_class=TOKENIZER,
    )
    return trainer, Seen(model, TOKENIZER)


def said(stream: Stream, epoch: int) -> list[tuple[str, str]]:
    """What the schedule says for an epoch."""
    return [(pair.source, pair.reference) for pair in stream.epoch(epoch)]


class StopAt(TrainerCallback):
    """Saves and stops after so many updates, as somebody would who needs the machine."""

    def __init__(self, step: int):
        self.step = step

    def on_step_end(self, args: Any, state: Any, control: Any, **named: Any) -> None:
        control.should_save = control.should_training_stop = state.global_step == self.step


# -- epoch by epoch -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("schedule", "order"), SCHEDULES)
def test_the_model_sees_what_the_schedule_says_in_every_epoch(schedule, order, tmp_path: Path):
    given = stream(EXAMPLES, schedule, order=order, seed=3)
    trainer, seen = made(given, tmp_path, num_train_epochs=3)
    trainer.train()
    epochs = [said(given, epoch) for epoch in range(3)]
    assert seen.pairs == [pair for epoch in epochs for pair in epoch]
    is_new_each_time = schedule in ("sample_one", "shuffle") or order == "shuffled"
    assert len({tuple(epoch) for epoch in epochs}) == (3 if is_new_each_time else 1)


def test_uniform_keeps_the_references_of_an_example_in_one_batch(tmp_path: Path):
    given = stream(EXAMPLES, "uniform")
    trainer, seen = made(given, tmp_path, num_train_epochs=1)
    trainer.train()
    pairs = said(given, 0)
    assert seen.batches == [
        [pairs[number] for number in batch] for batch in batches(given.schedule, 0, BatchSettings(4))
    ]
    assert [len(batch) for batch in seen.batches] == [4, 4, 2, 4, 4]


def test_worker_processes_see_the_epoch_too(tmp_path: Path):
    given = stream(EXAMPLES, "sample_one", seed=3)
    trainer, seen = made(
        given, tmp_path, num_train_epochs=2, dataloader_num_workers=1, dataloader_persistent_workers=True
    )
    trainer.train()
    assert seen.pairs == said(given, 0) + said(given, 1)


# -- checkpoints ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("schedule", "order"), SCHEDULES)
def test_a_run_that_goes_on_in_the_middle_of_an_epoch_sees_the_rest_and_nothing_twice(schedule, order, tmp_path: Path):
    given = stream(EXAMPLES, schedule, order=order, seed=3)
    settings = {"num_train_epochs": 3, "per_device_train_batch_size": 2, "gradient_accumulation_steps": 2}
    first, before = made(given, tmp_path, **settings)
    updates = math.ceil(len(EpochBatches(first.train_dataset, 2, epochs=3)) / 2)
    first.add_callback(StopAt(updates + 1))  # inside epoch 1
    first.train()
    second, after = made(given, tmp_path, **settings)
    second.train(resume_from_checkpoint=True)
    assert before.pairs and after.pairs
    assert len(before.pairs) % len(given)
    assert before.pairs + after.pairs == said(given, 0) + said(given, 1) + said(given, 2)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a run under sample_one has left behind when it was stopped."""
    folder = tmp_path_factory.mktemp("run")
    trainer, _ = made(stream(EXAMPLES, "sample_one", seed=3), folder, num_train_epochs=2)
    trainer.add_callback(StopAt(1))
    trainer.train()
    return folder / "checkpoint-1"


@pytest.mark.parametrize(
    ("schedule", "seed", "more", "says"),
    [
        ("sample_one", 4, {}, "the data, the schedule, its seed or its limit"),
        ("first", 3, {}, "the data, the schedule, its seed or its limit"),
        ("sample_one", 3, {"per_device_train_batch_size": 3}, '"batch_size" (4 then, 3 now)'),
        ("sample_one", 3, {"gradient_accumulation_steps": 2}, '"gradient_accumulation_steps" (1 then, 2 now)'),
    ],
)
def test_a_checkpoint_of_another_schedule_is_refused(schedule, seed, more, says, checkpoint, tmp_path: Path):
    trainer, seen = made(stream(EXAMPLES, schedule, seed=seed), tmp_path, num_train_epochs=2, **more)
    with pytest.raises(SettingsError) as refused:
        trainer.train(resume_from_checkpoint=str(checkpoint))
    assert says in str(refused.value)
    assert not seen.batches


def test_a_checkpoint_that_does_not_name_its_schedule_is_refused(checkpoint, tmp_path: Path):
    (tmp_path / "checkpoint-1").mkdir()
    for file in checkpoint.iterdir():
        if file.name != NOTES:
            (tmp_path / "checkpoint-1" / file.name).write_bytes(file.read_bytes())
    trainer, _ = made(stream(EXAMPLES, "sample_one", seed=3), tmp_path, num_train_epochs=2)
    with pytest.raises(SettingsError, match="does not say which schedule"):
        trainer.train(resume_from_checkpoint=True)


def test_a_checkpoint_says_what_its_steps_were_counted_in(checkpoint):
    notes = json.loads((checkpoint / NOTES).read_text("utf-8"))
    assert notes["batches_an_epoch"] == 2
    assert notes["fingerprint"] == stream(EXAMPLES, "sample_one", seed=3).fingerprint


# -- what is refused ------------------------------------------------------------------------------------------------


def test_a_plain_trainer_that_would_turn_uniform_into_shuffle_is_refused(tmp_path: Path):
    trainer, seen = made(stream(EXAMPLES, "uniform"), tmp_path, Seq2SeqTrainer, num_train_epochs=1)
    with pytest.raises(SettingsError, match="tears the references of an example apart"):
        trainer.train()
    assert len(seen.batches) < 5


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"dataloader_drop_last": True}, "dataloader_drop_last=True leaves pairs out"),
        ({"train_sampling_strategy": "group_by_length"}, '"group_by_length" is an order of its own'),
        ({"accelerator_config": {"split_batches": True}}, "split_batches=True cuts batches"),
    ],
)
def test_arguments_that_change_the_order_are_refused(more, says, tmp_path: Path):
    trainer, _ = made(stream(EXAMPLES, "shuffle"), tmp_path, **more)
    with pytest.raises(SettingsError) as refused:
        trainer.train()
    assert says in str(refused.value)


def test_a_data_set_without_a_schedule_is_refused(tmp_path: Path):
    trainer, _ = made(stream(EXAMPLES, "shuffle"), tmp_path)
    trainer.train_dataset = [{"input_ids": [1], "labels": [1]}]
    with pytest.raises(SettingsError, match="the train_dataset is a list, which has no schedule; give a PairDataset"):
        trainer.train()


# -- several processes ----------------------------------------------------------------------------------------------


def counted(counts: list[int], schedule: str, order: str) -> PairDataset:
    examples = [Example(f"{n}", f"s{n}", tuple([Reference("r")] * count)) for n, count in enumerate(counts)]
    return PairDataset(stream(examples, schedule, order=order))


@given(
    counts=st.lists(st.integers(1, 6), min_size=1, max_size=30),
    pairs=st.integers(1, 8),
    processes=st.integers(1, 4),
    chosen=st.sampled_from(SCHEDULES),
    skipped=st.integers(0, 3),
)
def test_processes_share_an_epoch_without_a_pair_twice_or_missing(counts, pairs, processes, chosen, skipped):
    data = counted(counts, *chosen)
    try:
        found = EpochBatches(data, pairs, processes=processes, epochs=3)
    except SettingsError:
        # Hardly anything: under uniform, a batch or two for each process, whose examples leave few places to cut.
        assert len(data) < (2 * pairs * processes if chosen[0] == "uniform" else processes)
        return
    shares = [BatchSamplerShard(found, processes, index) for index in range(processes)]
    for epoch in range(3):
        data.set_epoch(epoch)
        dealt = [list(share) for share in shares]
        assert {len(own) for own in dealt} == {len(found) // processes}
        in_turn = [batch for turn in zip(*dealt, strict=True) for batch in turn]
        assert [number for batch in in_turn for number in batch] == list(range(len(data)))
        assert max(map(len, in_turn)) <= max(pairs, 2 if processes > 1 else 1)
        first = min(skipped, len(shares[0]))
        for share, own in zip(shares, dealt, strict=True):
            assert list(SkipBatchSampler(share, first)) == own[first:]


def test_a_batch_is_cut_between_examples_where_that_can_be():
    found = EpochBatches(counted([2, 2, 2, 2, 2], "uniform", "given"), 4, processes=2)
    assert list(found) == [[0, 1], [2, 3], [4, 5, 6, 7], [8, 9]]


def test_a_batch_of_one_example_is_cut_only_if_nothing_else_is_left():
    found = EpochBatches(counted([4, 4, 4], "uniform", "given"), 4, processes=2)
    assert list(found) == [[0, 1], [2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]


def test_batches_of_one_pair_are_joined_where_they_do_not_come_out_even():
    found = EpochBatches(counted([1] * 8, "shuffle", "given"), 1, processes=3)
    assert list(found) == [[0, 1], [2, 3], [4], [5], [6], [7]]
    assert list(EpochBatches(counted([1] * 4, "shuffle", "given"), 1, processes=2)) == [[0], [1], [2], [3]]


def test_more_processes_than_pairs_are_refused():
    with pytest.raises(SettingsError, match="2 pairs in batches of at most 4 cannot be shared out evenly among 3"):
        EpochBatches(counted([1, 1], "shuffle", "given"), 4, processes=3)


def test_every_epoch_has_as_many_batches_although_examples_change_places():
    data = counted([1, 4, 2, 3, 1, 4, 2, 3, 4, 1], "uniform", "shuffled")
    found = EpochBatches(data, 5, epochs=20)
    before = set()
    for epoch in range(20):
        data.set_epoch(epoch)
        before.add(sum(1 for _ in batches(data.stream.schedule, epoch, BatchSettings(5))))
        assert len(list(found)) == len(found)
    assert len(before) > 1
