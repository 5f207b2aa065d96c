"""`transformers.Trainer` under a schedule.

In:   a trainer whose `train_dataset` is a PairDataset.
Out:  the same trainer, which sees in epoch e what the schedule says for epoch e: in its order and its batches, the rest
      of it after a checkpoint, and with several processes every pair in one of them.
Not:  the schedules (schedule/), data sets and scores (huggingface.py).

A plain Trainer draws the order itself, and does not always tell the data set which epoch it is: not under several
processes, and not where it goes on from a checkpoint in the middle of an epoch.

A trainer counts an epoch's batches once, and takes that number for all epochs. Under uniform, where examples come in
another order each time, the number changes; and processes that get unequal numbers wait for each other for ever. So
some batches of uniform are cut in two: between two examples, if there are two in it. Under the other schedules, batches
that do not come out even are made of about one size.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from polyref.errors import SettingsError, load_extra
from polyref.feed.pytorch import PairDataset
from polyref.files import write_whole
from polyref.schedule.batches import BatchSettings, batches, count_batches

transformers = load_extra("transformers", purpose="training with transformers", extra="huggingface")
load_extra("accelerate", purpose="training with transformers", extra="huggingface")
_Callback: Any = transformers.TrainerCallback

NOTES = "polyref.json"  # beside each checkpoint: what its steps were counted in


class Scheduled:
    """Makes any Trainer follow the schedule of its pairs: `class Trainer(Scheduled, Seq2SeqTrainer): pass`.

    Checkpoints are written and read as the Trainer does it. One that was made with other data, another schedule or
    other batches is refused: its step would mean another place in the epoch.
    """

    args: Any
    accelerator: Any
    data_collator: Any
    train_dataset: Any
    _train_batch_size: int
    _resumed: Path | None = None
    schedule_notes: dict[str, Any]

    def __init__(self, *arguments: Any, **named: Any):
        super().__init__(*arguments, **named)
        self.add_callback(_Notes(self))  # type: ignore[attr-defined]

    def train(self, resume_from_checkpoint: str | bool | None = None, **named: Any) -> Any:
        """Train, or go on from a checkpoint."""
        found = resume_from_checkpoint
        if isinstance(found, bool):
            found = transformers.trainer_utils.get_last_checkpoint(self.args.output_dir) if found else None
        self._resumed = None if found is None else Path(found)
        return super().train(resume_from_checkpoint=resume_from_checkpoint, **named)  # type: ignore[misc]

    def get_train_dataloader(self) -> Any:
        """The batches of the schedule, dealt out to the processes by accelerate."""
        from torch.utils.data import DataLoader

        data, args = self.train_dataset, self.args
        if not isinstance(data, PairDataset):
            kind = type(data).__name__
            raise SettingsError(f"the train_dataset is a {kind}, which has no schedule; give a PairDataset")
        _check_arguments(args, self.accelerator)
        batches = EpochBatches(
            data, self._train_batch_size, processes=args.world_size, epochs=_epochs(args, data, self._train_batch_size)
        )
        self.schedule_notes = {
            "fingerprint": data.stream.fingerprint,
            "batch_size": self._train_batch_size,
            "batches_an_epoch": len(batches),
            "processes": args.world_size,
            "gradient_accumulation_steps": args.gradient_accumulation_steps,
        }
        if self._resumed is not None:
            _check_notes(self._resumed, self.schedule_notes)
        collate = self._get_collator_with_removed_columns(  # type: ignore[attr-defined]
            self.data_collator, description="Training"
        )
        workers = args.dataloader_num_workers
        loader: DataLoader[Any] = DataLoader(
            data,
            batch_sampler=batches,
            collate_fn=collate,
            num_workers=workers,
            pin_memory=args.dataloader_pin_memory,
            persistent_workers=args.dataloader_persistent_workers,
            prefetch_factor=args.dataloader_prefetch_factor,
            multiprocessing_context=args.dataloader_multiprocessing_context,
            worker_init_fn=partial(
                transformers.trainer_utils.seed_worker, num_workers=workers, rank=args.process_index
            ),
        )
        return self.accelerator.prepare(loader)


class _Notes(_Callback):  # type: ignore[misc]
    """Writes beside each checkpoint what its steps were counted in."""

    def __init__(self, trainer: Scheduled):
        self._trainer = trainer

    def on_save(self, args: Any, state: Any, control: Any, **named: Any) -> None:
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        if state.is_world_process_zero and folder.is_dir():
            write_whole(folder / NOTES, json.dumps(self._trainer.schedule_notes, indent=1).encode() + b"\n")


def _check_notes(checkpoint: Path, notes: dict[str, Any]) -> None:
    """Refuse to go on from a checkpoint whose steps mean something else here."""
    try:
        found = json.loads((checkpoint / NOTES).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise SettingsError(
            f"{checkpoint} does not say which schedule it was made with ({NOTES}); "
            "go on from one that a Scheduled trainer has saved, or begin again with its model"
        ) from None
    for name, value in notes.items():
        if found.get(name) != value:
            what = f'"{name}" ({found.get(name)} then, {value} now)'
            if name == "fingerprint":
                what = "the data, the schedule, its seed or its limit"
            raise SettingsError(f"{checkpoint} was made with other settings: {what}; go on with those, or begin again")


def _check_arguments(args: Any, accelerator: Any) -> None:
    """Refuse what would change the order of the schedule, or leave pairs out."""
    refused = {
        "dataloader_drop_last=True leaves pairs out": args.dataloader_drop_last,
        f'train_sampling_strategy="{args.train_sampling_strategy}" is an order of its own': (
            args.train_sampling_strategy not in ("random", "sequential")
        ),
        "dataloader_in_order=False mixes the batches": not args.dataloader_in_order,
        "split_batches=True cuts batches": accelerator.split_batches,
        "dispatch_batches=True cuts batches anew": accelerator.dispatch_batches,
    }
    for what, is_so in refused.items():
        if is_so:
            raise SettingsError(f"{what}, and the schedule decides; leave it out")


def _epochs(args: Any, data: PairDataset, batch_size: int) -> int:
    """How many epochs there will be, or a few more."""
    if args.max_steps <= 0:
        return max(1, math.ceil(float(args.num_train_epochs)))
    updates = len(data) / (batch_size * int(args.world_size) * int(args.gradient_accumulation_steps))
    return math.ceil(int(args.max_steps) / math.ceil(updates))


# -- batches --------------------------------------------------------------------------------------------------------


class EpochBatches:
    """The batches of the data set's current epoch: in every epoch as many, and as many for each process.

    Every pair is in one of them, none in two. accelerate deals them out to the processes in turn.
    """

    def __init__(self, data: PairDataset, pairs: int, *, processes: int = 1, epochs: int = 1):
        self._data, self._schedule = data, data.stream.schedule
        # Of very little data, batches as large as asked for would leave some processes without any.
        self._settings = BatchSettings(min(pairs, -(-len(data) // processes)))
        self._is_grouped = self._schedule.settings.schedule == "uniform" and self._settings.pairs != 1
        varies = self._is_grouped and self._schedule.settings.order == "shuffled"
        counts = [count_batches(self._schedule, epoch, self._settings) for epoch in range(epochs if varies else 1)]
        self._length = -(-max(counts) // processes) * processes
        if self._settings.pairs == 1:
            self._length = len(data) // processes * processes
        if len(data) < processes or not all(map(self._comes_out_even, range(len(counts)), counts)):
            raise SettingsError(
                f"{len(data):,} pairs in batches of at most {pairs} cannot be shared out evenly among "
                f"{processes} processes; give larger batches, or fewer processes"
            )

    def _comes_out_even(self, epoch: int, count: int) -> bool:
        return not self._is_grouped or count == self._length or len(self._cut_up(epoch)) == self._length

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[list[int]]:
        starts = self._cut_up(self._data.epoch) if self._is_grouped else self._runs()
        if len(starts) != self._length:
            raise SettingsError(
                f"epoch {self._data.epoch} has {len(starts):,} batches, and the trainer counts on {self._length:,}; "
                "say at the beginning how many epochs there are"
            )
        ends = chain(islice(starts, 1, None), [len(self._data)])
        return (list(range(start, end)) for start, end in zip(starts, ends, strict=True))

    def _runs(self) -> Sequence[int]:
        """Where batches begin: full ones, or where those do not come out even, all of about one size."""
        full = range(0, len(self._data), self._settings.pairs or 1)
        if len(full) == self._length:
            return full
        # The larger ones first, so that too little memory is noticed soon.
        size, larger = divmod(len(self._data), self._length)
        return [number * size + min(number, larger) for number in range(self._length)]

    def _cut_up(self, epoch: int) -> Sequence[int]:
        """Where batches begin that keep examples together, some of them cut in two so that there are enough."""
        starts = [batch[0] for batch in batches(self._schedule, epoch, self._settings)]
        missing = max(0, self._length - len(starts))
        between: list[int] = []
        inside: list[int] = []
        for start, end in pairwise([*starts, len(self._data)]):
            if len(between) == missing:
                break
            examples = self._schedule.pairs(epoch, np.arange(start, end)).examples
            places = np.flatnonzero(np.diff(examples)) + start + 1
            if len(places):
                between.append(int(places[np.argmin(np.abs(places - (start + end) / 2))]))
            elif end - start > 1:
                inside.append((start + end) // 2)
        return sorted([*starts, *(between + inside)[:missing]])
