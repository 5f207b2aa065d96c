"""The bidirectional language model as an encoder: a word's vector depends on the words around it.

In:   a trained folder: `weights.safetensors`, `vocabulary.txt`, `config.json`; then sentences, as lists of words.
Out:  for each word its own vector, the forward state and the backward state at it, side by side; how likely each word
      is in its place, and how fluent a sentence is.
Not:  training (training.py), the LSTM and the softmax (network.py).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load, save

from polyref.compiled import why_none
from polyref.encode.encoder import Encoding, measure_baseline, unrelated_sentences
from polyref.encode.network import (
    INPUT_STEP,
    Direction,
    Floats,
    Ints,
    Output,
    Part,
    States,
    on_grid,
    output_shapes,
    run,
    side_by_side,
)
from polyref.errors import InputError, SettingsError
from polyref.files import write_whole, writing
from polyref.settings import setting, settings

FORMAT = 1
CONFIG, WEIGHTS, VOCABULARY = "config.json", "weights.safetensors", "vocabulary.txt"
# Sentences, and words with all of them as long as the longest, that run together. Larger batches are hardly faster, and
# need more memory.
SENTENCES_AT_ONCE = 640
WORDS_AT_ONCE = 16_384
_SMALL = 2_000  # words for which loading the kernel does not pay
_LEAST_WORDS = 40  # fewer do not tell a language
_MANY_WORDS = 1000
_COMMON_WORDS, _COMMON_SHARE = 100, 0.2  # in English that is hardly ever less than 0.3, in French or German than 0.15
_MOST_LETTERS = 40  # of a longer word, the first ones; it is an address or a mistake
_LEAST_KNOWN = 0.5  # of the package's sample text; an encoder that knows less of it is for other text
_SOFT = ("align", "soft")

Made = TypeVar("Made")


@settings
class VectorSettings:
    """What the vectors of a language model consist of. The paper's are the states alone, as they are."""

    word_share: float | None = setting(
        None,
        "Share of a word's own vector.",
        more="Its states have the rest of the similarity.",
        unset="the encoder's",
        at_least=0,
        at_most=1,
        metavar="SHARE",
        needs=_SOFT,
    )
    centre: bool = setting(
        True,
        "Subtract the mean of each part of a vector, and give both states equal weight.",
        option="--no-centre",
        off="Take states as they are: subtract no means.",
        needs=_SOFT,
    )


# -- words ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Vocabulary:
    """`words`, most frequent first, of which the first `predicted` can be predicted; all can be read."""

    words: tuple[str, ...]
    predicted: int

    @staticmethod
    def from_counts(counts: Mapping[str, int], cutoff: int, readable: Iterable[str] = (), most: int = 0) -> Vocabulary:
        """Words that occur `cutoff` times or more, and behind them others that can be read, up to `most` in all."""
        frequent = sorted((word for word in counts if counts[word] >= cutoff), key=lambda word: (-counts[word], word))
        words = tuple(dict.fromkeys([*frequent, *readable]))
        return Vocabulary(words[: max(most, len(frequent))], len(frequent))

    @cached_property
    def row(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words)}

    def find(self, word: str) -> int:
        """The number of a word, as it is or in lower case; -1 if it has none."""
        found = self.row.get(word)
        return self.row.get(word.lower(), -1) if found is None else found

    @cached_property
    def hash(self) -> str:
        return _digest("\n".join(self.words).encode("utf-8", "surrogatepass"))

    def is_of_sample(self) -> bool:
        """Whether it has enough of the package's sample text to measure a baseline on that."""
        words = [word for sentence in unrelated_sentences() for word in sentence]
        return sum(self.find(word) >= 0 for word in words) >= _LEAST_KNOWN * len(words)


@lru_cache(maxsize=1 << 16)
def pieces(word: str, buckets: int) -> tuple[int, ...]:
    """A word by its spelling: the buckets of its runs of three to five letters, edges marked; at least one."""
    marked = f"<{word[:_MOST_LETTERS]}>"
    found = [marked[start : start + length] for length in (3, 4, 5) for start in range(len(marked) - length + 1)]
    return tuple([crc32(piece.encode("utf-8", "surrogatepass")) % buckets for piece in found or [marked]])


# -- the folder -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EncoderFolder:
    """What a folder holds. `config` is passed on as it is."""

    config: dict[str, Any]
    vocabulary: Vocabulary
    weights: dict[str, npt.NDArray[Any]]
    hash: str  # of weights and vocabulary


def write_folder(folder: Path, config: dict[str, Any], vocabulary: Vocabulary, weights: dict[str, Any]) -> None:
    """Write the three files, the description last: a folder without it is not complete."""
    content = save({name: np.ascontiguousarray(weight) for name, weight in weights.items()})
    facts = {
        "format": FORMAT,
        **config,
        "words": len(vocabulary.words),
        "predicted": vocabulary.predicted,
        "vocabulary_hash": vocabulary.hash,
        "weights_hash": _digest(content),
    }
    with writing(folder, "give another folder"):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / WEIGHTS, content)
        write_whole(folder / VOCABULARY, ("\n".join(vocabulary.words) + "\n").encode("utf-8"))
    write_config(folder, facts)


def write_config(folder: Path, config: dict[str, Any]) -> None:
    """Write the description alone."""
    with writing(folder, "give another folder"):
        write_whole(folder / CONFIG, (json.dumps(config, indent=2, ensure_ascii=False) + "\n").encode())


def read_config(folder: Path) -> dict[str, Any]:
    """The description alone."""
    path = folder / CONFIG
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        cure = "give a folder in which training has finished"
        raise InputError(f"there is no {CONFIG} in it", cure, file=str(folder)) from None
    except (OSError, ValueError, RecursionError) as error:
        raise _refused(path, f"cannot be read ({error})") from None
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise _refused(path, "not the description of an encoder that this version reads")
    for name in ("vector_size", "state_size", "buckets", "words", "predicted"):
        if type(config.get(name)) is not int or not 0 < config[name] < 2**31:
            raise _refused(path, f"`{name}` should be a whole number above 0")
    for name, least in (("baseline", -1), ("word_share", 0)):
        if type(config.get(name)) not in (int, float) or not least <= config[name] <= 1:
            raise _refused(path, f"`{name}` should be a number from {least} to 1")
    cutoffs: Any = config.get("cutoffs")
    is_whole = isinstance(cutoffs, list) and cutoffs and all(type(cutoff) is int for cutoff in cutoffs)
    rising = [0, *cutoffs, config["predicted"] + 1] if is_whole else [0, 0]
    if cutoffs is not None and not all(low < high for low, high in pairwise(rising)):
        raise _refused(path, "`cutoffs` should be whole numbers that rise, none above `predicted`")
    return config


def read_folder(folder: Path) -> EncoderFolder:
    """Read an encoder; what does not fit together is refused."""
    config = read_config(folder)
    try:
        content = (folder / WEIGHTS).read_bytes()
        words = (folder / VOCABULARY).read_bytes().decode("utf-8").split("\n")[:-1]
    except (OSError, ValueError) as error:
        raise _refused(folder, f"cannot be read ({error})") from None
    vocabulary = Vocabulary(tuple(words), config["predicted"])
    if vocabulary.hash != config.get("vocabulary_hash") or len(words) != config["words"]:
        raise _refused(folder / VOCABULARY, "not the vocabulary that the weights belong to")
    if _digest(content) != config.get("weights_hash"):
        raise _refused(folder / WEIGHTS, "not the weights that the description belongs to")
    try:
        weights = load(content)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise _refused(folder / WEIGHTS, f"cannot be read ({error})") from None
    for name, shape in _shapes(config).items():
        found = weights[name].shape if name in weights else "nothing"
        if found != shape:
            raise _refused(folder / WEIGHTS, f"`{name}` should have shape {shape}, and has {found}")
        if weights[name].dtype != np.float16:
            raise _refused(folder / WEIGHTS, f"`{name}` should be float16, and is {weights[name].dtype}")
        if not np.isfinite(weights[name]).all():
            raise _refused(folder / WEIGHTS, f"`{name}` holds numbers that are not finite")
    parts = [config["weights_hash"], config["vocabulary_hash"], config["word_share"]]
    return EncoderFolder(config, vocabulary, weights, _digest(json.dumps(parts).encode()))


def _shapes(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """The arrays that a folder must hold."""
    size, states = config["vector_size"], config["state_size"]
    shapes: dict[str, tuple[int, ...]] = {
        "vectors": (config["words"], size),
        "pieces": (config["buckets"], size),
        "boundary": (2, size),
        "centre.own": (size,),
        "centre.states": (2, states),
        "projection.weight": (size, 2 * states),
        "projection.bias": (size,),
    }
    for side in ("forward", "backward"):
        gates = {f"{side}.read": (4 * states, size), f"{side}.state": (4 * states, states)}
        shapes |= gates | {f"{side}.bias": (4 * states,)}
    return shapes | output_shapes(config["predicted"], size, config.get("cutoffs"))


def _refused(path: Path, problem: str) -> InputError:
    return InputError(problem, "take another copy, or train it again", file=str(path))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


# -- the encoder ----------------------------------------------------------------------------------------------------


class _Read(NamedTuple):
    """What was read in a batch, one row per word, sentence after sentence.

    States have a row more for each sentence: that of the boundary, before the first word where it is read forwards, and
    behind the last where it is read backwards.
    """

    words: Ints  # numbers of the distinct words
    rows: Ints  # of those, in the vocabulary; -1 for words outside it
    own: Floats  # the vectors of those
    forward: States
    backward: States
    is_first: npt.NDArray[np.bool_]  # of the states of a sentence
    is_last: npt.NDArray[np.bool_]
    ends: Ints  # of the sentences, in words


class Reading(NamedTuple):
    """What the language model makes of a sentence, one row per word."""

    log_probabilities: npt.NDArray[np.float64]  # of the word, given all the others
    forward: Floats  # the state behind the word
    backward: Floats  # the state before the word, read from the end


class ContextEncoder:
    """An encoder of a folder. A word that the vocabulary lacks is read by its spelling.

    Text in which more than the share `most_unknown` of the words is lacking is refused: it is in another language.
    """

    def __init__(
        self,
        folder: EncoderFolder,
        name: str,
        vectors: VectorSettings | None = None,
        *,
        most_unknown: float = 1.0,
    ):
        self.name = name
        self.hash = folder.hash
        self.config = folder.config
        vectors, usual = vectors or VectorSettings(), float(folder.config["word_share"])
        self._share = usual if vectors.word_share is None else vectors.word_share
        self._centre = vectors.centre
        self.is_usual = self._centre and self._share == usual  # as the folder describes them
        if not self.is_usual:
            # A cache knows vectors by the hash; usual ones keep theirs.
            self.hash = _digest(json.dumps([folder.hash, self._share, self._centre]).encode())
        self._weights = folder.weights
        self._vocabulary = folder.vocabulary
        self._directions = {side: Direction.of(folder.weights, side) for side in ("forward", "backward")}
        self._words_seen = 0
        self._most_unknown = most_unknown

    @classmethod
    def load(cls, path: str, vectors: VectorSettings | None = None) -> ContextEncoder:
        return cls(read_folder(Path(path)), path, vectors)

    @cached_property
    def baseline(self) -> float:
        """The folder's is that of its usual vectors; for others it is measured."""
        if self.is_usual:
            return float(self.config["baseline"])
        if not self._vocabulary.is_of_sample():
            problem = f"{self.name} has no baseline for a word_share or centre of your own"
            raise SettingsError(problem, "set baseline, which encoder calibrate measures, or set similarity to cosine")
        return measure_baseline(self, unrelated_sentences())

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
            share, some = f"{len(unknown) / len(words):.0%}", ", ".join(list(dict.fromkeys(unknown))[:5])
            problem = f'the encoder "{self.name}" does not know {share} of these words ({some}, ...)'
            others = "vectors:FILE, huggingface:NAME or the folder of one that you trained"
            raise SettingsError(problem, f"give an encoder of that language ({others}), or set align to hard")

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Encoding]:
        distinct = list(dict.fromkeys(map(tuple, sentences)))
        encodings = dict(zip(distinct, self._each(distinct, self._encodings), strict=True))
        return [encodings[tuple(sentence)] for sentence in sentences]

    def _encodings(self, read: _Read) -> Iterable[Encoding]:
        """Own vector and states, each less what all words share, of length 1 and then weighted.

        So the cosine of two such vectors is the weighted mean of their three cosines. Without the centre, both states
        are one part, so that the longer one counts for more: with no share for the word it is the paper's cosine.
        """
        share, words = self._share, read.words
        before, behind = read.forward.of_word[~read.is_first], read.backward.of_word[~read.is_last]
        parts: list[Part]
        if self._centre:
            centre = self._weights["centre.states"].astype(np.float32)
            own = self._weights["centre.own"].astype(np.float32)
            parts = [
                (read.own, own, words, share),
                (read.forward.distinct, centre[0], before, (1 - share) / 2),
                (read.backward.distinct, centre[1], behind, (1 - share) / 2),
            ]
        else:
            both = np.concatenate([read.forward.distinct[before], read.backward.distinct[behind]], axis=1)
            own, none = (np.zeros(rows.shape[1], np.float32) for rows in (read.own, both))
            parts = [(read.own, own, words, share), (both, none, np.arange(len(both)), 1 - share)]
        vectors = side_by_side([part for part in parts if part[-1] > 0], len(words), compiled=self._is_compiled)
        known = read.rows[read.words] >= 0
        return map(Encoding, np.split(vectors, read.ends[:-1]), np.split(known, read.ends[:-1]))

    @property
    def _is_compiled(self) -> bool:
        """Whether there is enough to do for the kernels."""
        return self._words_seen >= _SMALL and not why_none()

    def states(self, sentences: Sequence[Sequence[str]]) -> list[tuple[Floats, Floats]]:
        """The forward and the backward states of each sentence, in the order of its words.

        The first forward state is the one behind the boundary before the first word; the last backward state is the
        one behind the boundary at the end. So both have a row more than there are words.
        """

        def both(read: _Read) -> Iterable[tuple[Floats, Floats]]:
            ends = (read.ends + np.arange(1, len(read.ends) + 1))[:-1]
            sides = (np.split(states.distinct[states.of_word], ends) for states in (read.forward, read.backward))
            return zip(*sides, strict=True)

        return self._each(sentences, both)

    def log_probabilities(self, sentences: Sequence[Sequence[str]]) -> list[npt.NDArray[np.float64]]:
        """Of each word of each sentence, given all the others; words that cannot be predicted are one, the unknown."""
        return self._each(sentences, self._log_probabilities)

    def _log_probabilities(self, read: _Read) -> Iterable[npt.NDArray[np.float64]]:
        before, behind = read.forward.of_word[~read.is_last], read.backward.of_word[~read.is_first]
        # Sentences that share words mostly share what is around them: each such place is worked out once.
        places, place = np.unique(np.stack([before, behind, read.words]), axis=1, return_inverse=True)
        around = np.concatenate([read.forward.distinct[places[0]], read.backward.distinct[places[1]]], axis=1)
        unknown = self._vocabulary.predicted  # what stands for all words that cannot be predicted
        words = np.where((read.rows < 0) | (read.rows > unknown), unknown, read.rows)[places[2]]
        return np.split(self._output.log_probabilities(around, words)[place], read.ends[:-1])

    def readings(self, sentences: Sequence[Sequence[str]]) -> list[Reading]:
        """Log-probabilities and states at once, for words only: states at the boundaries are left out."""

        def each(read: _Read) -> Iterable[Reading]:
            forward = read.forward.distinct[read.forward.of_word[~read.is_first]]
            backward = read.backward.distinct[read.backward.of_word[~read.is_last]]
            sides = (np.split(states, read.ends[:-1]) for states in (forward, backward))
            return map(Reading, self._log_probabilities(read), *sides)

        return self._each(sentences, each)

    def fluency(self, sentences: Sequence[Sequence[str]]) -> list[float]:
        """The mean of log p(word | all the others) over each sentence's words, to four digits: 0 is best."""
        return [round(float(values.mean()), 4) if len(values) else 0.0 for values in self.log_probabilities(sentences)]

    def word_vectors(self, words: Sequence[str]) -> Floats:
        """What is read for each word, whatever stands around it: its own vector, or what its spelling tells."""
        return self._vectors(words, self._rows(words))

    def _vectors(self, words: Sequence[str], rows: Ints) -> Floats:
        vectors: Floats = self._weights["vectors"][rows].astype(np.float32)
        of_pieces = self._weights["pieces"]
        for place in np.flatnonzero(rows < 0).tolist():
            spelled = of_pieces[list(pieces(words[place], len(of_pieces)))].astype(np.float64).mean(0)
            vectors[place] = on_grid(spelled / max(np.sqrt((spelled**2).sum()), 1e-9), INPUT_STEP)
        return vectors

    def _rows(self, words: Iterable[str]) -> Ints:
        return np.array([self._vocabulary.find(word) for word in words], np.int64)

    def _each(self, sentences: Sequence[Sequence[str]], make: Callable[[_Read], Iterable[Made]]) -> list[Made]:
        """What is made of each sentence; they are read in batches of about one length."""
        order = sorted(range(len(sentences)), key=lambda k: -len(sentences[k]))
        found: dict[int, Made] = {}
        while order:
            many = min(SENTENCES_AT_ONCE, max(1, WORDS_AT_ONCE // max(1, len(sentences[order[0]]))))
            batch, order = order[:many], order[many:]
            found.update(zip(batch, make(self._run([sentences[k] for k in batch])), strict=True))
        return [found[k] for k in range(len(sentences))]

    def _run(self, sentences: Sequence[Sequence[str]]) -> _Read:
        # Number 0 is the boundary, which is not the same on both sides.
        number: dict[str, int] = {}
        numbered = [[number.setdefault(word, len(number) + 1) for word in sentence] for sentence in sentences]
        flat = np.array([word for sentence in numbered for word in sentence], np.int64)
        rows = self._rows(number)
        vectors = self._vectors(list(number), rows)
        edges = self._weights["boundary"].astype(np.float32)
        self._words_seen += len(flat)

        def run_one(side: str, edge: Floats, ordered: list[Ints]) -> States:
            weights, backwards = self._directions[side], side == "backward"
            read = np.concatenate([edge[None], vectors]) @ weights.read + weights.bias
            return run(weights, read, ordered, backwards=backwards, compiled=self._is_compiled)

        forward = run_one("forward", edges[0], [np.array([0, *words]) for words in numbered])
        backward = run_one("backward", edges[1], [np.array([*words, 0]) for words in numbered])
        lengths = np.array([len(words) for words in numbered])
        is_first = np.zeros(len(flat) + len(lengths), np.bool_)
        is_first[np.cumsum(lengths + 1) - lengths - 1] = True
        is_last = np.roll(is_first, -1)
        return _Read(flat - 1, rows, vectors, forward, backward, is_first, is_last, lengths.cumsum())

    @cached_property
    def _output(self) -> Output:
        return Output.of(self._weights, self._vocabulary.predicted, self.config.get("cutoffs"))
