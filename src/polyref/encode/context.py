"""The bidirectional language model as an encoder: a word's vector depends on the words around it.

In:   sentences, as lists of words.
Out:  for each word its own vector, the forward state and the backward state at it, side by side; how fluent a
      sentence is.
Not:  training (training.py), the recurrence (recurrence.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polyref.encode.encoder import Encoding
from polyref.encode.folder import EncoderFolder, read_folder
from polyref.encode.grid import INPUT_STEP, on_grid
from polyref.encode.prediction import Adaptive, Full, bounded, log_probabilities, output_of
from polyref.encode.recurrence import Direction, Floats, States, Step, plain_step, run
from polyref.encode.spelling import pieces
from polyref.errors import SettingsError

# So many sentences run together. Larger batches are hardly faster, and need more memory.
SENTENCES_AT_ONCE = 640
_SMALL = 2_000  # words for which loading the kernel does not pay
_LEAST_WORDS = 40  # fewer do not tell a language
_MANY_WORDS = 1000
_COMMON_WORDS, _COMMON_SHARE = 100, 0.2  # in English that is hardly ever less than 0.3, in French or German than 0.15


class _Read(NamedTuple):
    """What was read in a batch, one row a word, sentence after sentence.

    States have a row more for each sentence: that of the boundary, before the first word where it is read forwards, and
    behind the last where it is read backwards.
    """

    words: npt.NDArray[np.int64]  # numbers of the distinct words
    rows: npt.NDArray[np.int64]  # of those, in the vocabulary; -1 for words outside it
    own: Floats  # the vectors of those
    forward: States
    backward: States
    is_first: npt.NDArray[np.bool_]  # of the states of a sentence
    is_last: npt.NDArray[np.bool_]
    ends: npt.NDArray[np.int64]  # of the sentences, in words

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        known: npt.NDArray[np.bool_] = self.rows[self.words] >= 0
        return known


class ContextEncoder:
    """An encoder of a folder. A word that the vocabulary lacks is read by its spelling.

    Text in which more than the share `most_unknown` of the words is lacking is refused: it is in another language.
    """

    def __init__(self, folder: EncoderFolder, name: str, *, most_unknown: float = 1.0):
        self._folder = folder
        self._name = name
        self._vocabulary = folder.vocabulary
        self._share = float(folder.config["word_share"])
        self._directions = {side: _direction(folder, side) for side in ("forward", "backward")}
        self._buckets = len(folder.weights["pieces"])
        self._words_seen = 0
        self._most_unknown = most_unknown

    @classmethod
    def load(cls, path: str) -> ContextEncoder:
        return cls(read_folder(Path(path)), path)

    @property
    def name(self) -> str:
        return self._name

    @property
    def hash(self) -> str:
        return self._folder.hash

    @property
    def baseline(self) -> float:
        return self._folder.baseline

    @property
    def config(self) -> dict[str, Any]:
        """The description in the folder."""
        return self._folder.config

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Encoding]:
        distinct = dict.fromkeys(map(tuple, sentences))
        encodings = dict(zip(distinct, self._encode(list(distinct)), strict=True))
        return [encodings[tuple(sentence)] for sentence in sentences]

    def check(self, sentences: Sequence[Sequence[str]]) -> None:
        """Refuse text in which too many words are unknown; a few words are not enough to tell."""
        if self._most_unknown >= 1:
            return
        words = [word for sentence in sentences for word in sentence if word.isalpha()]
        unknown = [word for word in words if self._vocabulary.find(word) < 0]
        if len(words) < _LEAST_WORDS or len(unknown) <= self._most_unknown * len(words):
            return
        # Little text may happen to be full of names; what tells its language then are the words between them.
        common = sum(0 <= self._vocabulary.find(word) < _COMMON_WORDS for word in words)
        if len(words) >= _MANY_WORDS or common < _COMMON_SHARE * len(words):
            raise SettingsError(
                f'the encoder "{self._name}" does not know {len(unknown) / len(words):.0%} of these words '
                f"({', '.join(list(dict.fromkeys(unknown))[:5])}, ...); give --encoder vectors:FILE or "
                "huggingface:NAME of that language, or one trained with polyref encoder train, or --align hard"
            )

    def _encode(self, sentences: Sequence[Sequence[str]]) -> list[Encoding]:
        found: dict[int, Encoding] = {}
        for batch, read in self._read(sentences):
            vectors = np.split(self._side_by_side(read), read.ends[:-1])
            known = np.split(read.known, read.ends[:-1])
            found.update(zip(batch, map(Encoding, vectors, known), strict=True))
        return [found[k] for k in range(len(sentences))]

    def states(self, sentences: Sequence[Sequence[str]]) -> list[tuple[Floats, Floats]]:
        """The forward and the backward states of each sentence, in the order of its words.

        The first forward state is the one behind the boundary before the first word; the last backward state is the
        one behind the boundary at the end. So both have a row more than there are words.
        """
        found: dict[int, tuple[Floats, Floats]] = {}
        for batch, read in self._read(sentences):
            ends = read.ends + np.arange(1, len(batch) + 1)
            both = (np.split(states.distinct[states.of_word], ends[:-1]) for states in (read.forward, read.backward))
            found.update(zip(batch, zip(*both, strict=True), strict=True))
        return [found[k] for k in range(len(sentences))]

    def log_probabilities(self, sentences: Sequence[Sequence[str]]) -> list[npt.NDArray[np.float64]]:
        """Of each word of each sentence, given all the others; words that cannot be predicted are one, the unknown."""
        found: dict[int, npt.NDArray[np.float64]] = {}
        for batch, read in self._read(sentences):
            before, behind = read.forward.of_word[~read.is_last], read.backward.of_word[~read.is_first]
            # Sentences that share words mostly share what is around them: each such place is worked out once.
            places, place = np.unique(np.stack([before, behind, read.words]), axis=1, return_inverse=True)
            around = np.concatenate([read.forward.distinct[places[0]], read.backward.distinct[places[1]]], axis=1)
            expected = bounded(around @ self._projection + self._projection_bias)
            values = log_probabilities(self._output, expected, self._predicted(read.rows)[places[2]])[place]
            found.update(zip(batch, np.split(values, read.ends[:-1]), strict=True))
        return [found[k] for k in range(len(sentences))]

    def _predicted(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The numbers that predicting goes by: words that cannot be predicted are one, behind all others."""
        unknown = self._vocabulary.predicted
        return np.where((rows < 0) | (rows > unknown), unknown, rows)

    def fluency(self, sentences: Sequence[Sequence[str]]) -> list[float]:
        """The mean of log p(word | all the others) over each sentence's words, to four digits: 0 is best."""
        return [round(float(values.mean()), 4) if len(values) else 0.0 for values in self.log_probabilities(sentences)]

    def _read(self, sentences: Sequence[Sequence[str]]) -> Iterator[tuple[list[int], _Read]]:
        """Batches of sentences of about one length: which ones they are, and what is read in them."""
        order = sorted(range(len(sentences)), key=lambda k: len(sentences[k]))
        for start in range(0, len(order), SENTENCES_AT_ONCE):
            batch = order[start : start + SENTENCES_AT_ONCE]
            yield batch, self._run([sentences[k] for k in batch])

    def _run(self, sentences: Sequence[Sequence[str]]) -> _Read:
        # Number 0 is the boundary, which is not the same on both sides.
        number: dict[str, int] = {}
        numbered = [[number.setdefault(word, len(number) + 1) for word in sentence] for sentence in sentences]
        flat = np.array([word for sentence in numbered for word in sentence], np.int64)
        rows = self._rows(number)
        vectors = self._vectors(list(number), rows)
        step = self._step(len(flat))

        def run_one(side: str, boundary: Floats, ordered: list[npt.NDArray[np.int64]]) -> States:
            weights = self._directions[side]
            read = np.concatenate([boundary[None], vectors]) @ weights.read + weights.bias
            return run(weights, read, ordered, step, backwards=side == "backward")

        forward = run_one("forward", self._boundary[0], [np.array([0, *words]) for words in numbered])
        backward = run_one("backward", self._boundary[1], [np.array([*words, 0]) for words in numbered])
        lengths = np.array([len(words) for words in numbered])
        is_first = np.zeros(len(flat) + len(lengths), np.bool_)
        is_first[np.cumsum(lengths + 1) - lengths - 1] = True
        is_last = np.roll(is_first, -1)
        return _Read(flat - 1, rows, vectors, forward, backward, is_first, is_last, lengths.cumsum())

    def word_vectors(self, words: Sequence[str]) -> Floats:
        """What is read for each word, whatever stands around it: its own vector, or what its spelling tells."""
        return self._vectors(words, self._rows(words))

    def _rows(self, words: Iterable[str]) -> npt.NDArray[np.int64]:
        return np.array([self._vocabulary.find(word) for word in words], np.int64)

    def _vectors(self, words: Sequence[str], rows: npt.NDArray[np.int64]) -> Floats:
        vectors: Floats = self._folder.weights["vectors"][rows].astype(np.float32)
        for place in np.flatnonzero(rows < 0).tolist():
            spelled = self._pieces[list(pieces(words[place], self._buckets))].mean(0)
            vectors[place] = on_grid(spelled / max(np.sqrt((spelled**2).sum()), 1e-9), INPUT_STEP)
        return vectors

    def _side_by_side(self, read: _Read) -> npt.NDArray[np.float16]:
        """Own vector and states, each less what all words share, of length 1 and then weighted.

        So the cosine of two such vectors is the weighted mean of their three cosines.
        """
        centre = self._folder.weights["centre.states"].astype(np.float32)
        own = self._folder.weights["centre.own"].astype(np.float32)
        parts = [
            (read.own - own, read.words, self._share),
            (read.forward.distinct - centre[0], read.forward.of_word[~read.is_first], (1 - self._share) / 2),
            (read.backward.distinct - centre[1], read.backward.of_word[~read.is_last], (1 - self._share) / 2),
        ]
        return np.concatenate([_scaled(rows, share)[places] for rows, places, share in parts if share > 0], axis=1)

    def _step(self, words: int) -> Step:
        self._words_seen += words
        if self._words_seen < _SMALL:
            return plain_step
        from polyref.encode import kernels

        return kernels.step

    @cached_property
    def _output(self) -> Full | Adaptive:
        return output_of(self._folder.weights, self._vocabulary.predicted, self._folder.config.get("cutoffs"))

    @cached_property
    def _projection(self) -> Floats:
        return np.ascontiguousarray(self._folder.weights["projection.weight"].T.astype(np.float32))

    @cached_property
    def _projection_bias(self) -> Floats:
        return self._folder.weights["projection.bias"].astype(np.float32)

    @cached_property
    def _pieces(self) -> npt.NDArray[np.float64]:
        return self._folder.weights["pieces"].astype(np.float64)

    @cached_property
    def _boundary(self) -> Floats:
        return self._folder.weights["boundary"].astype(np.float32)


def _direction(folder: EncoderFolder, side: str) -> Direction:
    def weights(name: str) -> Floats:
        return folder.weights[f"{side}.{name}"].astype(np.float32)

    return Direction(np.ascontiguousarray(weights("read").T), np.ascontiguousarray(weights("state").T), weights("bias"))


def _scaled(rows: Floats, share: float) -> npt.NDArray[np.float16]:
    """Rows of length sqrt(share). The squares are exact in float64, and so is their sum."""
    squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    lengths = np.sqrt(np.maximum(squares, 1e-30))
    scaled: Floats = rows * (np.sqrt(share) / lengths).astype(np.float32)[:, None]
    return scaled.astype(np.float16)
