"""Soft targets: at each word of a reference, what all references of the example say, and not this one alone.

In:   an example with its kept lattice, and references that are paths of it.
Out:  for each reference, the places where it could go on in several ways, and how likely each of them should be.
Not:  the ways themselves (lattice/branches.py), subwords (experiment/softening.py), the loss (model/).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from polyref.errors import InputError
from polyref.example import Example
from polyref.lattice.branches import Branches
from polyref.settings import setting, settings


@settings
class SoftSettings:
    """How much of a target is spread over other words, and how evenly."""

    share: float = setting(
        0.0,
        "Share of each target that is spread over all words that leave the same state of the kept lattice, by how many "
        "references take them. 0: none; 1: the reference read has no say of its own.",
        at_least=0,
        at_most=1,
        key="soft_targets",
    )
    temperature: float = setting(
        1.0,
        "Soft targets: a word counts by its references to the power of 1 / temperature. Above 1 is more even.",
        at_least=0.01,
        at_most=100,
    )


class Choice(NamedTuple):
    """A place of a reference where it could go on in other ways, from character `start` on.

    `texts` are the next words, each with the space before it, "" for the end; the reference's own comes first.
    `weights` are the probabilities that they should have; they sum to 1.
    """

    start: int
    texts: tuple[str, ...]
    weights: tuple[float, ...]


def soften(counts: Sequence[int], settings: SoftSettings) -> tuple[float, ...]:
    """The target where references go these ways, the first of which is the one that is read.

    It is a mixture: what one reference says, and what all of them say, this one among them. So a place with one way
    stays as it is, a share of 1 is the distribution of the lattice, and at a temperature of 1 the mean over references
    that go through the place is the same for every share: a larger one only scatters less.
    """
    most, power = max(counts), 1 / settings.temperature
    powers = [(count / most) ** power for count in counts]  # by the largest first, so that none is too large
    scale = settings.share / sum(powers)
    own, *others = [scale * one for one in powers]
    return 1 - settings.share + own, *others


def choices_of(example: Example, references: Sequence[str], settings: SoftSettings) -> list[tuple[Choice, ...]]:
    """For each of these references of an example, its choices: as far as it is a path of the kept lattice."""
    kept = None if example.lattice is None else example.lattice.kept
    if kept is None:
        problem = f'the example "{example.id}" has no kept lattice'
        raise InputError(problem, "expand it anew with --keep-lattice", line=example.line)
    try:
        lattice = Branches([reference.text for reference in example.references], kept, example.line)
    except InputError as error:
        raise InputError(f'the example "{example.id}": {error.problem}', error.cure, line=example.line) from None
    return [
        tuple([Choice(start, texts, soften(counts, settings)) for start, texts, counts in lattice.of(reference)])
        for reference in references
    ]
