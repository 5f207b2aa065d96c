"""Keep a lattice in a few numbers, and build it again.

In:   a lattice; or the references of an example with what was kept of their lattice.
Out:  what is kept of it; the same lattice again, without aligning or encoding.
Not:  files (data/), aligning and merging (merging.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import cast

from polyref.errors import InputError
from polyref.example import KeptLattice
from polyref.lattice.engine import AutoEngine, Engine
from polyref.lattice.lattice import Lattice
from polyref.lattice.merging import check_words
from polyref.lattice.numbering import number_words
from polyref.text import TextSettings, tokenize
from polyref.text.tokens import Tokenizer

CURE = "run polyref expand --keep-lattice again"


def keep(lattice: Lattice) -> KeptLattice:
    """What a lattice is built from again: for each gold reference, the states behind its words."""
    after = [int(state) for state in lattice.after]
    starts = list(accumulate(map(len, lattice.numbering.references), initial=0))
    distinct = [tuple(after[first:end]) for first, end in pairwise(starts)]
    states = tuple([distinct[number] for number in lattice.numbering.same])
    return KeptLattice(states, lattice.text.tokenizer, lattice.text.fold_case)


def restore(
    references: Sequence[str],
    kept: KeptLattice,
    *,
    penalty: float | None = None,
    engine: Engine | AutoEngine,
    line: int | None = None,
    share: float = 1.0,
) -> Lattice:
    """The lattice of these references from which `kept` was taken; an InputError where it cannot be theirs.

    It counts, lists, samples and searches as that one did. What the references were aligned by is not known any more.
    `share` is that of `AutoEngine.choose`.
    """
    text = TextSettings(cast(Tokenizer, kept.tokenizer), kept.fold_case)
    tokens = [tokenize(reference, text) for reference in references]
    check_words(tokens, line)
    numbering = number_words(tokens)
    if len(kept.states) != len(tokens):
        raise _refused(f"{len(kept.states)} references have states, and there are {len(tokens)}", line)
    found: dict[int, tuple[int, ...]] = {}
    for position, (distinct, states) in enumerate(zip(numbering.same, kept.states, strict=True), 1):
        if len(states) != len(numbering.references[distinct]):
            words = len(numbering.references[distinct])
            raise _refused(f"reference {position} has {words} words and {len(states)} states", line)
        if not all(before < state for before, state in zip((0, *states), states, strict=False)):
            raise _refused(f"the states of reference {position} do not grow from 1 on", line)
        if found.setdefault(distinct, states) != states:
            raise _refused(f"reference {position} has other states than the reference that it equals", line)
    after = [state for distinct in range(len(found)) for state in found[distinct]]
    # Every state stands behind a word, so their numbers have no gaps; and they cannot be more than the words.
    if len(set(after)) != max(after):
        raise _refused("the states leave out numbers", line)
    chosen = engine.choose(numbering.references, share) if isinstance(engine, AutoEngine) else engine
    compressed = chosen.restore(numbering.references, after)
    return Lattice(tokens, numbering, compressed, chosen, text=text, penalty=penalty)


def _refused(problem: str, line: int | None) -> InputError:
    return InputError(f"the kept lattice does not fit its references: {problem}", CURE, line=line)
