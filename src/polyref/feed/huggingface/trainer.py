"""`transformers.Trainer` under a schedule.

In:   a trainer whose `train_dataset` is a PairDataset.
Out:  the same trainer, which sees in epoch e what the schedule says for epoch e: in its order and its batches, the rest
      of it after a checkpoint, and with several processes every pair in one of them.
Not:  the batches (batches.py), the schedules (schedule/), metrics (metrics.py).

A plain Trainer draws the order itself, and does not always tell the data set which epoch it is: not under several
processes, and not where it goes on from a checkpoint in the middle of an epoch.
"""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

from polyref.data.extras import load
from polyref.errors import SettingsError
from polyref.feed.huggingface.batches import EpochBatches
from polyref.feed.torch_data import PairDataset

transformers = load("transformers", purpose="training with transformers", extra="huggingface")
load("accelerate", purpose="training with transformers", extra="huggingface")
_Callback: Any = transformers.TrainerCallback
_DataLoader: Any = load("torch.utils.data", purpose="training with transformers", extra="huggingface").DataLoader

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
        self._resumed = self._checkpoint(resume_from_checkpoint)
        return super().train(resume_from_checkpoint=resume_from_checkpoint, **named)  # type: ignore[misc]

    def get_train_dataloader(self) -> Any:
        """The batches of the schedule, dealt out to the processes by accelerate."""
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
        loader = _DataLoader(
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

    def _checkpoint(self, wanted: str | bool | None) -> Path | None:
        if isinstance(wanted, bool):
            wanted = transformers.trainer_utils.get_last_checkpoint(self.args.output_dir) if wanted else None
        return None if wanted is None else Path(wanted)


class _Notes(_Callback):  # type: ignore[misc]
    """Writes beside each checkpoint what its steps were counted in."""

    def __init__(self, trainer: Scheduled):
        self._trainer = trainer

    def on_save(self, args: Any, state: Any, control: Any, **named: Any) -> None:
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        if state.is_world_process_zero and folder.is_dir():
            (folder / NOTES).write_text(json.dumps(self._trainer.schedule_notes, indent=1) + "\n", encoding="utf-8")


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
            what = "the data, the schedule, its seed or its limit" if name == "fingerprint" else f'"{name}"'
            was = "" if name == "fingerprint" else f" ({found.get(name)} then, {value} now)"
            raise SettingsError(
                f"{checkpoint} was made with other settings: {what}{was}; go on with those, or begin again"
            )


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
