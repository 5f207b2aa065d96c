"""What is measured on: real data where a folder is given, else made-up captions.

In:   a folder such as DATA.md describes, or none.
Out:  captions, long examples, an encoder; files of many examples.
Not:  making captions up (captions.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

from benchmarks.captions import caption_examples, long_examples, word_vectors
from polyref import Encoder, Example, TextSettings, WordVectors, read
from polyref.encode import Encoding, measure_baseline
from polyref.text import Tokens, tokenize

CAPTIONS = 5000  # as many as COCO val2017 has
_COCO = "coco-val2017/all.jsonl"
_GLOVE = "glove-6b-100d/glove100_top50k_fp16.npz"
_LONG = ("e2e/train.jsonl", "asset/dev.jsonl")
_SEED = 1


@dataclass(frozen=True)
class Data:
    """The examples and the encoder of a run. `folder` None: made up."""

    folder: Path | None

    def missing(self) -> list[str]:
        """The files that the folder lacks."""
        if self.folder is None:
            return []
        return [name for name in (_COCO, _GLOVE, *_LONG) if not (self.folder / name).is_file()]

    @property
    def captions_name(self) -> str:
        return "made-up captions" if self.folder is None else "COCO val2017"

    @property
    def long_name(self) -> str:
        return "made-up long sentences" if self.folder is None else "E2E train and ASSET dev"

    @property
    def encoder_name(self) -> str:
        return "made-up vectors" if self.folder is None else "GloVe 100-d"

    @cached_property
    def captions(self) -> list[Example]:
        if self.folder is None:
            return caption_examples(CAPTIONS, seed=_SEED)
        return list(read(str(self.folder / _COCO)))

    @cached_property
    def long(self) -> list[Example]:
        if self.folder is None:
            return long_examples(CAPTIONS, seed=_SEED)
        return list(chain.from_iterable(read(str(self.folder / name)) for name in _LONG))

    @cached_property
    def encoder(self) -> Encoder:
        return word_vectors(_SEED) if self.folder is None else WordVectors.load(str(self.folder / _GLOVE))

    @cached_property
    def baseline(self) -> float:
        """What unrelated words share. The made-up table lacks the words of the package's sample text."""
        if self.folder is not None:
            return self.encoder.baseline
        return measure_baseline(self.encoder, [words_of(example)[0].words for example in self.captions[:200]])

    def encode(self, tokens: Sequence[Tokens]) -> list[Encoding]:
        return self.encoder.encode([reference.words for reference in tokens])


def words_of(example: Example) -> list[Tokens]:
    """The references of an example as words, as `polyref expand` cuts them by default."""
    return [tokenize(reference.text, TextSettings()) for reference in example.references]


def write_repeated(examples: Iterable[Example], times: int, path: Path) -> None:
    """A file with all examples over and over, each time under new ids."""
    with path.open("w", encoding="utf-8") as stream:
        for turn in range(times):
            for example in examples:
                references = [reference.text for reference in example.references]
                record = {"id": f"{example.id}-{turn}", "source": example.source, "references": references}
                stream.write(json.dumps(record) + "\n")
