"""What an encoder is trained on, and how: text and settings. Nothing here needs torch.

In:   files: plain text, one sentence per line (.txt), or data sets in any format that polyref reads; choices.
Out:  each distinct sentence once, as words; parts for training and validation, in batches of one length; a vocabulary.
Not:  the model (language_model.py), training (training.py), measuring a baseline (encoder.py).
"""

from __future__ import annotations

import hashlib
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from polyref.data import read
from polyref.data.opening import open_input
from polyref.encode.context import Vocabulary
from polyref.encode.vectors import WordVectors
from polyref.errors import InputError, SettingsError
from polyref.fit import FitSettings
from polyref.settings import part, setting, settings
from polyref.text import TextSettings, tokenize

Sentence = TypeVar("Sentence", bound=Sequence[str])
BASELINE_SENTENCES = 300
_SHARES = 10_000
_MOST_BYTES = 1 << 20
_MOST_WORDS = 100

Softmax = Literal["full", "adaptive"]
Use = Literal["references", "source", "both"]


@settings(group="Model")
class ModelSettings:
    """Sizes of the language model."""

    vector_size: int = setting(100, "Size of a word's vector.", at_least=1, at_most=1_000_000, metavar="N")
    state_size: int = setting(256, "Size of a state, per direction.", at_least=1, at_most=1_000_000, metavar="N")
    buckets: int = setting(
        4096, "Number of vectors for the spelling of unknown words.", at_least=1, at_most=1_000_000, metavar="N"
    )
    softmax: Softmax = setting("full", "adaptive is faster with many words.")
    dropout: float = setting(0.3, "Share of numbers left out in training.", at_least=0, below=1, metavar="SHARE")
    spelled: float = setting(
        0.05, "Share of words that training reads by their spelling alone.", at_least=0, below=1, metavar="SHARE"
    )
    freeze: bool = setting(False, "Keep the given word vectors as they are.")

    def check_together(self) -> None:
        if self.softmax == "adaptive" and self.vector_size < 16:
            problem, cure = f"is {self.vector_size}", "the adaptive softmax needs 16 or more"
            raise SettingsError(problem, cure, key="vector_size")


@settings(group="Text")
class TrainSettings:
    """How an encoder is trained."""

    cutoff: int = setting(3, "Predict words that occur this often.", at_least=1, metavar="N")
    readable: int = setting(30_000, "Words that given vectors make readable.", at_least=1, metavar="N")
    words_at_once: int = setting(1024, "Words per batch, about.", at_least=1, metavar="N")
    held_out: float = setting(0.02, "Share of sentences to validate on.", above=0, at_most=0.5, metavar="SHARE")
    use: Use = setting("references", "Texts of data sets that are read.")
    licence: str = setting("", "A note on the licence of the text.", metavar="TEXT")
    text: TextSettings = part(TextSettings)
    model: ModelSettings = part(ModelSettings)
    fit: FitSettings = part(FitSettings, learning_rate=2e-3)


def read_sentences(
    paths: Iterable[str], use: Use, text: TextSettings, *, one_each: bool = False
) -> dict[tuple[str, ...], None]:
    """The distinct sentences, in order; very long ones in pieces. `one_each`: only the first of each example."""
    found: dict[tuple[str, ...], None] = {}
    for path in paths:
        for line in _texts(path, use, one_each):
            words = tokenize(line, text).words
            for start in range(0, len(words), _MOST_WORDS):
                found[tuple(words[start : start + _MOST_WORDS])] = None
    return found


def unrelated_of(paths: Sequence[str], use: Use, text: TextSettings) -> list[tuple[str, ...]]:
    """Sentences of a person's own files that have nothing to do with each other: one per example, spread evenly."""
    found = list(read_sentences(paths, use, text, one_each=True))
    if len(found) < 2:
        raise InputError(f"{len(found)} sentences", "give more text", file=paths[0])
    return spread(found)


def spread(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Some of the sentences, spread evenly: enough to measure a baseline on."""
    count = min(BASELINE_SENTENCES, len(sentences))
    return [sentences[k * len(sentences) // count] for k in range(count)]


def _texts(path: str, use: Use, one_each: bool) -> Iterator[str]:
    if path.removesuffix(".gz").removesuffix(".zst").endswith(".txt"):
        yield from _lines(path)
        return
    for example in read(path):
        if use != "references":
            if not isinstance(example.source, str):
                raise InputError("the source is not a string", "set use to references", file=path, line=example.line)
            yield example.source
        if use == "references" or (use == "both" and not one_each):
            yield from [reference.text for reference in example.references[: 1 if one_each else None]]


def _lines(path: str) -> Iterator[str]:
    with open_input(path) as opened:
        # A line may be longer than what is read at once, which then may end within a character.
        decoder = getincrementaldecoder("utf-8")()
        for number, line in enumerate(iter(lambda: opened.line(_MOST_BYTES), b""), 1):
            try:
                yield decoder.decode(line, final=len(line) < _MOST_BYTES or line.endswith(b"\n")).strip()
            except UnicodeDecodeError:
                raise InputError("not UTF-8", "save the text as UTF-8", file=path, line=number) from None


def is_held_out(sentence: Sequence[str], share: float) -> bool:
    """Whether a sentence is kept from training: the same ones always, whatever else is in the text."""
    digest = hashlib.sha256(" ".join(sentence).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % _SHARES < share * _SHARES


@dataclass(frozen=True)
class TrainingText:
    """Sentences as numbers of words, by length, and the words that the numbers stand for."""

    words: list[str]
    by_length: dict[int, npt.NDArray[np.int64]]  # length -> sentences x length

    @staticmethod
    def of(sentences: Sequence[Sequence[str]], words: list[str]) -> TrainingText:
        number = {word: k for k, word in enumerate(words)}
        by_length: dict[int, list[list[int]]] = {}
        for sentence in sentences:
            by_length.setdefault(len(sentence), []).append([number[word] for word in sentence])
        return TrainingText(words, {length: np.array(rows) for length, rows in sorted(by_length.items())})

    @property
    def hash(self) -> str:
        """A name for the sentences in their order, which is that of the batches."""
        return hashlib.sha256(b"".join(rows.tobytes() for rows in self.by_length.values())).hexdigest()[:16]

    @property
    def tokens(self) -> int:
        return sum(rows.size for rows in self.by_length.values())

    def batches(self, words_at_once: int, order: np.random.Generator | None = None) -> list[npt.NDArray[np.int64]]:
        """All sentences, in batches of about this many words; in a drawn order, or as they are."""
        cut = []
        for length, rows in self.by_length.items():
            at_once = max(1, words_at_once // length)
            arranged = rows if order is None else rows[order.permutation(len(rows))]
            cut += [arranged[start : start + at_once] for start in range(0, len(rows), at_once)]
        return cut if order is None else [cut[k] for k in order.permutation(len(cut))]


def text_hash(sentences: Iterable[Sequence[str]]) -> str:
    """A name for the text that does not depend on the order of its sentences."""
    lines = "".join([f"{line}\n" for line in sorted(map(" ".join, sentences))])
    return hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True)
class Corpus:
    """The text, cut into what trains and what validates."""

    vocabulary: Vocabulary
    training: TrainingText
    validation: TrainingText
    hash: str
    sentences: int


def read_corpus(
    paths: Sequence[str], without: Sequence[str], settings: TrainSettings, table: WordVectors | None
) -> Corpus:
    """Read the text; sentences of the files `without` are left out altogether."""
    found = read_sentences(paths, settings.use, settings.text)
    for use in dict.fromkeys(("references", settings.use)):
        for sentence in read_sentences(without, use, settings.text):
            found.pop(sentence, None)
    validating = [sentence for sentence in found if is_held_out(sentence, settings.held_out)]
    training = [sentence for sentence in found if not is_held_out(sentence, settings.held_out)]
    if not training or not validating:
        problem = f"{len(training)} sentences to train on and {len(validating)} to validate"
        raise InputError(problem, "give more text, or hold out another share", file=paths[0])
    counts = Counter(chain.from_iterable(training))
    vocabulary = Vocabulary.from_counts(counts, settings.cutoff, _readable(table, counts), settings.readable)
    if not vocabulary.predicted:
        raise InputError(f"no word occurs {settings.cutoff} times", "give more text, or a lower cut-off", file=paths[0])
    words = list(dict.fromkeys(chain.from_iterable((vocabulary.words, *training, *validating))))
    texts = TrainingText.of(training, words), TrainingText.of(validating, words)
    return Corpus(vocabulary, *texts, text_hash(found), len(found))


def _readable(table: WordVectors | None, counts: Mapping[str, int]) -> list[str]:
    """The words of a table: those that the text has, then the others, each in the table's order.

    Tables have words with spaces in them, or line breaks; text has none such.
    """
    words = [] if table is None else [word for word in table.words if word.split() == [word]]
    return sorted(words, key=lambda word: word not in counts)
