"""Subwords: byte-pair encoding, learned from text and applied to any other.

In:   texts, and how large the vocabulary may be.
Out:  token numbers for a text, and exactly the text for its token numbers.
Not:  words as they are aligned and scored (tokens.py), batches of numbers (model/layers.py).

The units are bytes, so that no text is unknown and none is changed: not its spaces, its line breaks or its marks. One
vocabulary for a language, or one for two together: that is a matter of which texts it is learned from.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from polyref.errors import InputError, SettingsError, load_extra
from polyref.files import reading, write_whole, writing
from polyref.text.interruptible import fed

PAD, BOS, EOS = 0, 1, 2
# Byte-level units write a space as another letter, so no learned unit can ever have one of these names.
_SPECIAL = ("no token", "the begin", "the end")
SMALLEST = len(_SPECIAL) + 256
LARGEST = 1_000_000  # the learner sets room aside for all that it is asked for
_AT_ONCE = 4096


def _tokenizers() -> Any:
    return load_extra("tokenizers", purpose="cutting text into subwords", extra="torch")


class Subwords:
    """A learned vocabulary. `len` is its size; numbers 0, 1 and 2 are padding, begin and end, and no text has them."""

    def __init__(self, tokenizer: Any):
        self._tokenizer = tokenizer

    @classmethod
    def learn(cls, texts: Iterable[str], size: int) -> Subwords:
        """Learn up to `size` units: the 256 bytes, the three special ones, and the pairs that are merged most."""
        if not SMALLEST <= size <= LARGEST:
            cure = f"give a number from {SMALLEST} to {LARGEST:,}: 256 bytes are units already"
            raise SettingsError(f"the vocabulary size is {size}; {cure}")
        package = _tokenizers()
        units = {"special_tokens": list(_SPECIAL), "initial_alphabet": _bytes(package)}
        trainer = package.trainers.BpeTrainer(vocab_size=size, min_frequency=2, show_progress=False, **units)
        learner = _assembled(package, package.models.BPE())
        fed(lambda given: learner.train_from_iterator(given, trainer), map(_checked, texts))
        # Assembled anew without special tokens: a text that happens to hold their names must not turn into them.
        return cls(_of_merges(package, json.loads(learner.to_str())["model"]["merges"]))

    @classmethod
    def load(cls, path: str | Path) -> Subwords:
        """Read what `save` has written. Anything else is refused: it might cut texts off, or change them."""
        package = _tokenizers()
        with reading(path):
            content = Path(path).read_bytes()
        try:
            tokenizer = package.Tokenizer.from_buffer(content)
        except Exception as error:  # the library raises this class and no other
            raise InputError(f"holds no subwords ({error})", "give a file of subwords", file=str(path)) from None
        problem = _difference(package, tokenizer)
        if problem is not None:
            raise InputError(problem, "learn the subwords with polyref", file=str(path))
        return cls(tokenizer)

    def save(self, path: str | Path) -> None:
        """Write one JSON file, whole or not at all."""
        with writing(path, "give another place"):
            write_whole(path, self.to_json().encode())

    def to_json(self) -> str:
        """What `save` writes, in the form of the tokenizers library."""
        return str(self._tokenizer.to_str(pretty=True)) + "\n"

    def __len__(self) -> int:
        return int(self._tokenizer.get_vocab_size())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Subwords) and self._tokenizer.to_str() == other._tokenizer.to_str()

    def __hash__(self) -> int:
        return hash(self._tokenizer.to_str())

    def units(self) -> list[str]:
        """The units by number, as they are written: a letter for each byte, Ġ for a space; none holds a space."""
        return [str(self._tokenizer.id_to_token(number)) for number in range(len(self))]

    def encode(self, text: str) -> list[int]:
        """The numbers of a text's units; without begin and end."""
        return list(self._tokenizer.encode(_checked(text), add_special_tokens=False).ids)

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]:
        """`encode` for many texts, faster."""
        waiting, numbers = map(_checked, texts), []
        while some := list(islice(waiting, _AT_ONCE)):
            encoded = self._tokenizer.encode_batch_fast(some, add_special_tokens=False)
            numbers += [list(found.ids) for found in encoded]
        return numbers

    def decode(self, numbers: Sequence[int]) -> str:
        """The text of some units; padding, begin and end say nothing."""
        size = len(self)
        for number in numbers:
            if not 0 <= number < size:
                raise InputError(f"{number} is not a unit of the vocabulary", f"give numbers below {size}")
        return str(self._tokenizer.decode([number for number in numbers if number > EOS], skip_special_tokens=False))


def _assembled(package: Any, model: Any) -> Any:
    tokenizer = package.Tokenizer(model)
    tokenizer.pre_tokenizer = package.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = package.decoders.ByteLevel()
    return tokenizer


def _bytes(package: Any) -> list[str]:
    """The letters that stand for the 256 bytes."""
    return sorted(package.pre_tokenizers.ByteLevel.alphabet())


def _of_merges(package: Any, merges: Iterable[Sequence[str]]) -> Any:
    """The vocabulary follows from its merges: the special units, the bytes, and what each merge makes that is new."""
    pairs = [(left, right) for left, right in merges]
    units = dict.fromkeys([*_SPECIAL, *_bytes(package), *[left + right for left, right in pairs]])
    numbers = {unit: number for number, unit in enumerate(units)}
    return _assembled(package, package.models.BPE(vocab=numbers, merges=pairs))


def _difference(package: Any, tokenizer: Any) -> str | None:
    """What is not as in a vocabulary that was learned here; None if all is."""
    numbers = tokenizer.get_vocab(with_added_tokens=False)
    if sorted(numbers.values()) != list(range(len(numbers))):
        return f"the numbers of the vocabulary are not 0 to {len(numbers) - 1}, each once"
    if [numbers.get(name) for name in _SPECIAL] != [PAD, BOS, EOS]:
        return "numbers 0, 1 and 2 are not padding, begin and end"
    found = json.loads(tokenizer.to_str())
    try:
        usual = json.loads(_of_merges(package, found["model"].get("merges", [])).to_str())
    except Exception:  # the library raises this class and no other: a merge of what is not a unit
        return '"merges" of "model" is not what polyref writes'
    model, usual_model = found.pop("model"), usual.pop("model")
    compared = [(f'"{key}"', found.get(key), value) for key, value in usual.items()]
    compared.append(('"model"', model.get("type"), usual_model["type"]))
    compared += [(f'"{key}" of "model"', model.get(key), value) for key, value in usual_model.items()]
    return next((f"{name} is not what polyref writes" for name, one, other in compared if one != other), None)


def _checked(text: str) -> str:
    """JSON can spell half a character; that has no bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"the text {text[:40]!a} holds half a surrogate pair", "repair it") from None
    return text
