"""The subwords of a run: learned from its training text, or taken over with the model that it starts from.

In:   the corpus that is trained on.
Out:  the subwords of sources and targets, kept in the folder of the run.
Not:  byte-pair encoding itself (text/subwords.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from polyref.data.corpus import Corpus
from polyref.errors import InputError
from polyref.experiment.recipe import SubwordsSection
from polyref.fit.checkpoint import has_checkpoint
from polyref.model.folder import SOURCE, TARGET
from polyref.text.subwords import Subwords

_AT_ONCE = 1 << 14


@dataclass(frozen=True, slots=True)
class Vocabularies:
    """`source` is None where sources are images."""

    source: Subwords | None
    target: Subwords

    def save(self, folder: Path) -> None:
        if self.source is not None:
            self.source.save(folder / SOURCE)
        self.target.save(folder / TARGET)  # last: where it is, the other one is as well

    @classmethod
    def load(cls, folder: Path, *, with_source: bool) -> Vocabularies:
        source = Subwords.load(folder / SOURCE) if with_source else None
        return cls(source, Subwords.load(folder / TARGET))


def find_vocabularies(
    folder: Path, init_from: str, corpus: Corpus, settings: SubwordsSection, *, with_source: bool, fold_case: bool
) -> Vocabularies:
    """Those of the run in the folder if it has begun, of the model that it starts from, or new ones."""
    if has_checkpoint(folder):
        return _of_run(folder, with_source)
    if init_from:
        if not (Path(init_from) / TARGET).exists():
            raise InputError(f"holds no {TARGET}", "name a model folder to start from", file=init_from)
        found = Vocabularies.load(Path(init_from), with_source=with_source)
    else:
        found = _learned(corpus, settings, with_source, fold_case)
    found.save(folder)
    return found


def _of_run(folder: Path, with_source: bool) -> Vocabularies:
    try:
        return Vocabularies.load(folder, with_source=with_source)
    except InputError as error:
        error.cure = f"put it back as it was, or delete {folder} to train from the start"
        raise


def _learned(corpus: Corpus, settings: SubwordsSection, with_source: bool, fold_case: bool) -> Vocabularies:
    if with_source and settings.joint:
        texts = (text for some in (_sources(corpus), _references(corpus)) for text in some)
        both = Subwords.learn(_folded(texts, fold_case), settings.target)
        return Vocabularies(both, both)
    source = Subwords.learn(_folded(_sources(corpus), fold_case), settings.source) if with_source else None
    return Vocabularies(source, Subwords.learn(_folded(_references(corpus), fold_case), settings.target))


def _sources(corpus: Corpus) -> Iterator[str]:
    for first in range(0, len(corpus), _AT_ONCE):
        some = corpus.texts["sources"].many(np.arange(first, min(first + _AT_ONCE, len(corpus))))
        yield from (text.decode() for text in some)


def _references(corpus: Corpus) -> Iterator[str]:
    """Gold references: pseudo-references are made of their words, and there may be any number of them."""
    for first in range(0, len(corpus), _AT_ONCE):
        examples = np.arange(first, min(first + _AT_ONCE, len(corpus)))
        counts = corpus.numbers["gold"][examples].astype(np.int64)
        slots = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        numbers = np.repeat(np.asarray(corpus.starts)[examples], counts) + slots
        yield from (text.decode() for text in corpus.texts["references"].many(numbers))


def _folded(texts: Iterator[str], fold_case: bool) -> Iterator[str]:
    return (text.lower() for text in texts) if fold_case else texts
