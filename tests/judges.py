"""Language models for tests: they say what they are told to, and remember what they were asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from zlib import crc32


class Asked:
    """A language model that remembers what it was asked about, call after call."""

    name = "a model for tests"

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def fluency(self, sentences: Sequence[Sequence[str]]) -> list[float]:
        self.calls.append([" ".join(words) for words in sentences])
        return [round(self.judge(words), 4) for words in self.calls[-1]]

    def judge(self, sentence: str) -> float:
        raise NotImplementedError


class Table(Asked):
    """Says what stands in a table; other sentences are worth -1."""

    def __init__(self, values: Mapping[str, float]):
        super().__init__()
        self._values = values

    def judge(self, sentence: str) -> float:
        return self._values.get(sentence, -1.0)


class Drawn(Asked):
    """Draws a value from 0 down to -1 for each sentence, always the same one; gold sentences may be told apart."""

    def __init__(self, gold: Sequence[str] = (), *, gold_value: float = -0.5, values: int = 10):
        super().__init__()
        self._gold, self._gold_value, self._values = gold, gold_value, values

    def judge(self, sentence: str) -> float:
        if sentence in self._gold:
            return self._gold_value
        return -(crc32(sentence.encode()) % self._values) / self._values
