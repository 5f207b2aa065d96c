"""Rows of token numbers as tensors, padded behind.

In:   token numbers of sources and targets, without begin and end; features of images.
Out:  what a model takes at once.
Not:  which sentences stand together (schedule/, feed/), numbers from text (text/subwords.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from polyref.errors import InputError
from polyref.text.subwords import BOS, EOS, PAD

Rows = Sequence[Sequence[int]]
Moved = TypeVar("Moved")


@dataclass(frozen=True, slots=True)
class Targets:
    """What a decoder reads and what it should say: the same words, one step apart."""

    inputs: Tensor  # sentences x steps: begin, then the words
    outputs: Tensor  # sentences x steps: the words, then the end
    lengths: Tensor  # sentences: the steps of each, the end among them

    @classmethod
    def of(cls, rows: Rows) -> Targets:
        inputs, lengths = padded(rows, first=(BOS,))
        outputs, _ = padded(rows, last=(EOS,))
        return cls(inputs, outputs, lengths)

    @property
    def tokens(self) -> int:
        return int(self.lengths.sum())


@dataclass(frozen=True, slots=True)
class TranslationBatch:
    """Sources, and their targets where they are known."""

    source: Tensor  # sentences x source tokens, each with its end
    source_lengths: Tensor  # sentences
    targets: Targets | None = None

    @classmethod
    def of(cls, sources: Rows, targets: Rows | None = None) -> TranslationBatch:
        _check_numbers("sources", sources, targets)
        source, lengths = padded(sources, last=(EOS,))
        return cls(source, lengths, None if targets is None else Targets.of(targets))

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True, slots=True)
class CaptionBatch:
    """Images by their features, and their captions where they are known."""

    features: Tensor  # images x feature size
    targets: Targets | None = None

    @classmethod
    def of(cls, features: npt.NDArray[np.float32] | Tensor, targets: Rows | None = None) -> CaptionBatch:
        _check_numbers("images", features, targets)
        return cls(torch.as_tensor(features, dtype=torch.float32), None if targets is None else Targets.of(targets))

    def __len__(self) -> int:
        return len(self.features)


def padded(rows: Rows, *, first: Sequence[int] = (), last: Sequence[int] = ()) -> tuple[Tensor, Tensor]:
    """Rows with something before and behind each: rows x longest; and their lengths."""
    whole = [np.array([*first, *row, *last], np.int64) for row in rows]
    lengths = np.array([len(row) for row in whole])
    table = np.full((len(whole), int(lengths.max())), PAD, np.int64)
    table[np.arange(table.shape[1]) < lengths[:, None]] = np.concatenate(whole)
    return torch.from_numpy(table), torch.from_numpy(lengths)


def are_real(lengths: Tensor, longest: int) -> Tensor:
    """Which places of padded rows hold something: rows x longest."""
    return torch.arange(longest, device=lengths.device) < lengths[:, None]


def on_device(value: Moved, device: torch.device) -> Moved:
    """A batch with all its tensors on a device."""
    if isinstance(value, torch.Tensor):
        return value.to(device, non_blocking=True)  # type: ignore[return-value]
    if is_dataclass(value) and not isinstance(value, type):
        moved: dict[str, Any] = {one.name: on_device(getattr(value, one.name), device) for one in fields(value)}
        return replace(value, **moved)
    return value


def _check_numbers(what: str, given: object, targets: Rows | None) -> None:
    count = len(given)  # type: ignore[arg-type]
    if not count:
        raise InputError(f"a batch without {what}", "give at least one")
    if targets is not None and len(targets) != count:
        raise InputError(f"{count} {what}, but {len(targets)} targets", "give one target each")
