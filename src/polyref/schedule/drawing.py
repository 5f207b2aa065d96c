"""Draw a reference of an example, by weight and by the share that gold is to have.

In:   examples, and a hash for each draw.
Out:  the number of the reference that was drawn.
Not:  which examples come when (schedules.py).
"""

from __future__ import annotations

import numpy as np

from polyref.schedule.mixing import Hashes, Numbers, below, fractions, mix
from polyref.schedule.sizes import Sizes


def draw(examples: Numbers, hashed: Hashes, sizes: Sizes, gold_share: float | None) -> Numbers:
    """For each example one of its references: equally likely, or by weight where the references have any."""
    low = np.zeros(len(examples), np.int64)
    high = sizes.total[examples].astype(np.int64)
    if gold_share is not None:
        gold = sizes.gold[examples].astype(np.int64)
        is_gold = (fractions(mix(hashed)) < gold_share) | (gold == high)
        low, high = np.where(is_gold, low, gold), np.where(is_gold, gold, high)
    if sizes.weights is None:
        return low + below(hashed, high - low)
    starts = sizes.start_of(examples)
    # Beside a heavy pseudo-reference, gold ones may weigh next to nothing; among themselves they do not.
    heaps = sizes.heaps if gold_share is None else sizes.heaps_apart
    bottom, top = heaps[starts + low], heaps[starts + high]
    found = np.searchsorted(heaps, bottom + fractions(hashed) * (top - bottom), side="right") - 1
    # Sums of weights are rounded: what falls over an edge by that stays inside.
    drawn: Numbers = np.clip(found - starts, low, high - 1)
    return drawn
