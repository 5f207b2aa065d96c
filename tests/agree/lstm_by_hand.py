"""A second reader of an encoder's folder, as slow and as plain as can be: loops, Python floats, no rounding.

It shares no code with the package: it reads the files by itself, and knows the form of the folder from its description.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from zlib import crc32

import numpy as np
from safetensors.numpy import load_file


class ByHand:
    """States and probabilities of an encoder's folder."""

    def __init__(self, folder: Path):
        self.facts = json.loads((folder / "config.json").read_text("utf-8"))
        self.words = (folder / "vocabulary.txt").read_text("utf-8").split("\n")[:-1]
        self.arrays = {
            name: array.astype(np.float64) for name, array in load_file(folder / "weights.safetensors").items()
        }

    def _row(self, word: str) -> int | None:
        for form in (word, word.lower()):
            if form in self.words:
                return self.words.index(form)
        return None

    def vector(self, word: str) -> np.ndarray:
        row = self._row(word)
        if row is not None:
            return self.arrays["vectors"][row]
        marked = "<" + word + ">"
        total, count = np.zeros(self.arrays["pieces"].shape[1]), 0
        for start in range(len(marked)):
            for end in range(start + 3, min(start + 5, len(marked)) + 1):
                total += self.arrays["pieces"][crc32(marked[start:end].encode()) % len(self.arrays["pieces"])]
                count += 1
        mean = total / count
        return mean / math.sqrt(sum(x * x for x in mean))

    def states(self, sentence: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Forward: behind the boundary, behind word 1, ...; backward: before word 1, ..., before the boundary."""
        read = [self.vector(word) for word in sentence]
        first, last = self.arrays["boundary"]
        forward = self._run("forward", [first, *read])
        backward = self._run("backward", [last, *reversed(read)])
        return np.array(forward), np.array(backward[::-1])

    def _run(self, side: str, vectors: list[np.ndarray]) -> list[list[float]]:
        read, state, bias = (self.arrays[f"{side}.{name}"] for name in ("read", "state", "bias"))
        size = state.shape[1]
        hidden, cell, found = [0.0] * size, [0.0] * size, []
        for vector in vectors:
            total = read @ vector + state @ np.array(hidden) + bias
            for k in range(size):
                enter, keep, leave = (_sigmoid(total[gate * size + k]) for gate in (0, 1, 3))
                cell[k] = keep * cell[k] + enter * math.tanh(total[2 * size + k])
                hidden[k] = leave * math.tanh(cell[k])
            found.append(list(hidden))
        return found

    def log_probabilities(self, sentence: list[str]) -> list[float]:
        """Of each word, from the forward state before it and the backward state behind it."""
        forward, backward = self.states(sentence)
        found = []
        for place, word in enumerate(sentence):
            around = np.concatenate([forward[place], backward[place + 1]])
            expected = self.arrays["projection.weight"] @ around + self.arrays["projection.bias"]
            row = self._row(word)
            unknown = self.facts["predicted"]
            found.append(self._log_probability(expected, unknown if row is None else min(row, unknown)))
        return found

    def distribution(self, expected: np.ndarray) -> list[float]:
        """The probability of each word that can be predicted, and of the unknown one."""
        return [math.exp(self._log_probability(expected, row)) for row in range(self.facts["predicted"] + 1)]

    def _log_probability(self, expected: np.ndarray, row: int) -> float:
        cutoffs = self.facts["cutoffs"]
        if cutoffs is None:
            return _log_softmax(self.arrays["output.weight"] @ expected + self.arrays["output.bias"])[row]
        head = _log_softmax(self.arrays["output.head.weight"] @ expected)
        if row < cutoffs[0]:
            return head[row]
        ends = [*cutoffs[1:], self.facts["predicted"] + 1]
        for k, (start, end) in enumerate(zip(cutoffs, ends, strict=True)):
            if start <= row < end:
                smaller, weight = (self.arrays[f"output.tail.{k}.{part}.weight"] for part in (0, 1))
                return head[cutoffs[0] + k] + _log_softmax(weight @ (smaller @ expected))[row - start]
        raise AssertionError(f"no cluster holds word {row}")


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > 0 else math.exp(x) / (1 + math.exp(x))


def _log_softmax(scores: np.ndarray) -> list[float]:
    top = max(scores)
    total = math.log(sum(math.exp(score - top) for score in scores)) + top
    return [score - total for score in scores]
