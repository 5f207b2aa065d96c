"""How good a model is on examples that it is not trained on.

In:   a model, examples with their references, how to search and which scores.
Out:  each score.
Not:  when (fit/loop.py), searching (model/folder.py), scoring (score/).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from polyref.data.corpus import Corpus
from polyref.experiment.pairs import Collation
from polyref.experiment.recipe import PERPLEXITY, ValidationSection
from polyref.model.settings import BeamSettings
from polyref.score import evaluate

_PAIRS_AT_ONCE = 64


@dataclass
class Validation:
    """`scores` are those of the last time that it was called."""

    corpus: Corpus
    collation: Collation
    settings: ValidationSection
    beam: BeamSettings
    scores: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        everything = len(self.corpus)
        count = min(self.settings.examples or everything, everything)
        # Spread over the file: the first ones may all be of a kind.
        self.examples = np.arange(count, dtype=np.int64) * everything // count
        self.references = [
            [self.corpus.reference(example, slot) for slot in range(int(self.corpus.numbers["gold"][example]))]
            for example in self.examples.tolist()
        ]

    def __call__(self) -> float:
        """The score that training goes by."""
        metrics = [name for name in self.settings.metrics if name != PERPLEXITY]
        scores: dict[str, float] = {}
        if metrics:
            sources = [source.decode() for source in self.corpus.texts["sources"].many(self.examples)]
            trained, features, at_once = self.collation.trained, self.collation.features, self.settings.at_once
            texts = trained.generate(sources, features=features, beam=self.beam, batch=at_once)
            said = [best.text for best, *_ in texts]
            tokens, folds, gold = self.settings.tokenizer, self.settings.fold_case or trained.fold_case, self.references
            found = evaluate(said, gold, metrics=metrics, tokenizer=tokens, fold_case=folds, allow_empty=True)
            scores = {name: scored.score for name, scored in found.items()}
        if PERPLEXITY in (*self.settings.metrics, self.settings.goal):
            scores[PERPLEXITY] = self._perplexity()
        self.scores = scores
        return scores[self.settings.goal]

    def _perplexity(self) -> float:
        """Of the gold references of the same examples, a subword."""
        sources = self.corpus.texts["sources"].many(self.examples)
        pairs = [
            (source, reference.encode())
            for source, references in zip(sources, self.references, strict=True)
            for reference in references
        ]
        total, count = 0.0, 0
        for first in range(0, len(pairs), _PAIRS_AT_ONCE):
            rows = self.collation.rows(*zip(*pairs[first : first + _PAIRS_AT_ONCE], strict=True))
            loss, tokens = self.collation.trained.model.loss(self.collation.batch(rows))
            total += float(loss)
            count += tokens
        return math.exp(min(total / count, 50.0)) if total == total else math.nan
