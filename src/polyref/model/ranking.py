"""The best of many candidates, with ties settled.

In:   values. Out: the places of the best, in order. Not: what the values are (beam.py).

topk is fast and leaves ties open. So it is asked for one candidate more than wanted: where no two neighbours are equal
there is no tie, and where there is one, a stable sort settles it.
"""

from __future__ import annotations

import torch
from torch import Tensor

_BLOCK = 64


def best_words(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The highest values of each row and their places, the lower place first where they are equal: rows x count."""
    highest, places = _highest(values, min(count + 1, values.shape[1]))
    tied = _has_ties(highest)
    highest, places = highest[:, :count], places[:, :count]
    if bool(tied.any()):
        ordered, settled = values[tied].sort(dim=1, descending=True, stable=True)
        highest[tied], places[tied] = ordered[:, :count], settled[:, :count]
    return highest, places


def best_candidates(values: Tensor, tokens: Tensor, count: int) -> Tensor:
    """The places of the highest values of each row, the lower token first where they are equal: rows x count."""
    highest, places = values.topk(min(count + 1, values.shape[1]), 1)
    tied = _has_ties(highest)
    places = places[:, :count]
    if bool(tied.any()):
        by_token = tokens[tied].sort(dim=1, stable=True).indices
        order = values[tied].gather(1, by_token).sort(dim=1, descending=True, stable=True).indices[:, :count]
        places[tied] = by_token.gather(1, order)
    return places


def _has_ties(highest: Tensor) -> Tensor:
    """Of -inf there are many, and none is wanted."""
    return ((highest[:, 1:] == highest[:, :-1]) & (highest[:, 1:] > -torch.inf)).any(1)


def _highest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """topk along long rows: the best are in the blocks that have the best maxima, or behind the last whole block."""
    length = values.shape[1]
    blocks = length // _BLOCK
    if blocks < 2 * count:
        return values.topk(count, 1)
    split = torch.unflatten(values[:, : blocks * _BLOCK], 1, (blocks, _BLOCK))  # rows x blocks x block
    chosen = split.amax(2).topk(count, 1, sorted=False).indices  # rows x count
    inside = split.gather(1, chosen[:, :, None].expand(-1, -1, _BLOCK)).flatten(1)  # rows x (count * block)
    near = torch.cat([inside, values[:, blocks * _BLOCK :]], 1)
    highest, found = near.topk(count, 1)
    within = chosen.gather(1, (found // _BLOCK).clamp(max=count - 1)) * _BLOCK + found % _BLOCK
    behind = found - count * _BLOCK + blocks * _BLOCK
    return highest, torch.where(found < count * _BLOCK, within, behind)
