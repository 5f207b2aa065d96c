"""What a model should not say: sentences of the kept lattices that the rules of content leave out.

In:   a corpus whose examples have kept their lattices with rules; some pairs of an epoch and their references.
Out:  for each pair, one sentence that its example leaves out, with the reason in words.
Not:  the rules (judge/), how preferences are written (lines.py).

Seams are not asked: of what they leave out beside the rules, about every second sentence is good (docs/choosing.md).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache

from polyref.data.corpus import Corpus
from polyref.errors import InputError
from polyref.expansion import Tools
from polyref.fresh import lattice_of
from polyref.judge import LeftOut, left_out
from polyref.lattice import SearchSettings
from polyref.schedule import Pairs

PER_EXAMPLE = 16  # the best by BLEU, which are the nearest to being good
_REMEMBERED = 1 << 16  # examples; shuffle comes back to each of them


class Rejected:
    """The sentences that each example leaves out.

    A pair gets the one that is nearest in length to its reference, so that a model does not learn to be short or long
    instead: most of what says something twice is longer. A hash of seed, epoch and text decides between equals.
    """

    def __init__(self, corpus: Corpus, seed: int, tools: Tools | None = None):
        self._corpus, self._seed, self._tools = corpus, seed, tools or Tools()
        self.missing = 0  # pairs so far that have none
        self._of_example = lru_cache(_REMEMBERED)(self._found)
        if not corpus.has_lattices:
            problem = "preferences need the lattices, and the file has not kept them for every example"
            raise InputError(problem, "expand it anew with --keep-lattice")

    def of(self, pairs: Pairs, references: Sequence[str]) -> list[LeftOut | None]:
        """One sentence for each pair; None where the example leaves nothing out."""
        found: list[LeftOut | None] = []
        for example, chosen in zip(pairs.examples.tolist(), references, strict=True):
            sentences, length = self._of_example(example), len(chosen.split())

            def distance(one: LeftOut, length: int = length, chosen: str = chosen) -> tuple[int, bytes]:
                drawn = f"{self._seed} {pairs.epoch} {one.text}\n{chosen}".encode()
                return abs(len(one.text.split()) - length), hashlib.blake2b(drawn, digest_size=8).digest()

            found.append(min(sentences, key=distance) if sentences else None)
            self.missing += not sentences
        return found

    def _found(self, number: int) -> tuple[LeftOut, ...]:
        lattice = lattice_of(self._corpus.example(number), self._tools.engine, share=1.0)
        if lattice.rules is None:
            problem = f'the lattice of "{self._corpus.id(number)}" was kept without rules, which leave nothing out'
            raise InputError(problem, "expand it anew, with content or seams as the judge")
        return left_out(lattice, PER_EXAMPLE, SearchSettings(self._seed))
