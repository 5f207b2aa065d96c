"""An encoder that is a pretrained model of the Hugging Face kind, such as BERT: a word's vector depends on its context.

In:   a model's folder or its name on the hub, and which of its layers to read.
Out:  an Encoder; a word's vector is the mean of its sub-words' vectors.
Not:  training a model, graphics cards.

Batches of several sentences, padding and the number of threads all change the last bits of a vector. So each window of
text passes through the model alone, unpadded, on one thread: a sentence has the same vectors wherever it stands.
Nothing of a model is ever run or unpickled: weights are read from safetensors only.
"""

from __future__ import annotations

import hashlib
import logging
import re
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polyref.encode.encoder import Encoding, measure_baseline, unit_vectors, unrelated_sentences
from polyref.errors import InputError, PolyrefError, SettingsError, load_extra

# What a model consists of, by the names that the hub's models use; pickles are not among them.
_WEIGHTS = ("model.safetensors", "model-*-of-*.safetensors")
_FILES = (
    *_WEIGHTS,
    *("model.safetensors.index.json", "config.json", "tokenizer.json", "tokenizer_config.json"),
    *("special_tokens_map.json", "added_tokens.json", "vocab.txt", "vocab.json", "merges.txt", "*.model"),
)
# What stands for "no bound" in a tokenizer's settings is 1e30; no model reads this much at once.
_UNBOUNDED = 10**7
# The number of threads, the level of a logger and the warnings that show belong to the whole process.
_process = threading.RLock()

_Vectors = npt.NDArray[Any]


def parse_name(rest: str) -> tuple[str, int | None]:
    """NAME or NAME@LAYER; an @ that no whole number follows belongs to the name."""
    found = re.fullmatch(r"(.+)@([+-]?[0-9]{1,9})", rest)
    return (found[1], int(found[2])) if found else (rest, None)


class PretrainedEncoder:
    """A pretrained model, read at one layer: 0 is what goes into the first one; the middle one if none is named.

    A word of which the model sees nothing, or its unknown token only, is not known: it is alike to itself only.
    """

    def __init__(self, model: Any, tokenizer: Any, layer: int, *, name: str, hash: str):
        self.name = name
        self.hash = hash
        self._model = model
        self._tokenizer = tokenizer
        self._layer = layer
        self._windowing = _windowing(model, tokenizer)
        # The unknown token, and a bare mark of a word's start, say nothing of the word that they stand for.
        self._mute = {tokenizer.unk_token_id, tokenizer.convert_tokens_to_ids("▁")}
        self._size = _drop_layers(model, layer, self._probe)

    @classmethod
    def load(cls, name: str, layer: int | None = None) -> PretrainedEncoder:
        """Open a model's folder, or fetch a model of the hub by its name."""
        torch = _package("torch")
        with _apart(), torch.random.fork_rng(devices=[]):  # what a file of weights lacks would be drawn at random
            folder = _folder(name)
            _check_files(folder, name)
            try:
                config = _package("transformers").AutoConfig.from_pretrained(folder, **_LOCAL)
                layers = config.num_hidden_layers
                layer = (layers + 1) // 2 if layer is None else layer
                if not 0 <= layer <= layers:
                    raise SettingsError(f"{name} has no layer {layer}", f"choose one from 0 to {layers}")
                model, tokenizer = _load(folder, config)
                if not tokenizer.is_fast or len(tokenizer) <= len(tokenizer.all_special_ids):
                    raise InputError("there is no fast tokenizer", "put its tokenizer.json into the folder", file=name)
                return cls(model, tokenizer, layer, name=f"huggingface:{name}@{layer}", hash=_hash(folder, layer))
            except PolyrefError:
                raise
            except Exception as error:  # what a broken file makes transformers raise can be anything
                cure = "fetch or save it again, or choose a model that transformers knows as an encoder of text"
                raise InputError(f"cannot be used ({_reason(error)})", cure, file=name) from None

    @cached_property
    def baseline(self) -> float:
        return measure_baseline(self, unrelated_sentences())

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Encoding]:
        words = [tuple(sentence) for sentence in sentences]
        with _apart():
            encodings = {sentence: self._encode(sentence) for sentence in dict.fromkeys(words)}
        return [encodings[sentence] for sentence in words]

    def _encode(self, sentence: Sequence[str]) -> Encoding:
        """Each word from the window that holds most of it and in which it stands furthest from an edge."""
        text, word_at = _write(sentence)
        vectors = np.zeros((len(sentence), self._size))
        standing = [(0, 0)] * len(sentence)
        for window in self._windows(text):
            found = _sub_words(window, word_at, self._mute)
            states = self._states(window) if found else vectors
            inside = np.flatnonzero(np.array(window.special_tokens_mask) == 0)
            for word, rows in found.items():
                here = len(rows), int(min(rows[0] - inside[0], inside[-1] - rows[-1]))
                if here > standing[word]:
                    standing[word] = here
                    vectors[word] = states[rows].mean(axis=0, dtype=np.float64)
        return Encoding(unit_vectors(vectors), np.array([count > 0 for count, _ in standing], np.bool_))

    def _windows(self, text: str) -> list[Any]:
        """The text in sub-words, in pieces that the model can take, each with the special tokens around it."""
        how = {"return_overflowing_tokens": True, "split_special_tokens": True, "verbose": False, **self._windowing}
        windows: list[Any] = self._tokenizer(text, **how).encodings
        return windows

    def _states(self, window: Any) -> _Vectors:
        """The layer's vectors of a window: one row per sub-word."""
        torch = _package("torch")
        ids = torch.tensor([window.ids])
        with torch.inference_mode():
            output = self._model(input_ids=ids, attention_mask=torch.ones_like(ids), output_hidden_states=True)
        states: _Vectors = output.hidden_states[self._layer][0].numpy()
        return states

    def _probe(self) -> _Vectors:
        """The vectors of a sentence, which shows whether the model works as an encoder does."""
        [window, *_] = self._windows(" ".join(unrelated_sentences()[0]))
        states = self._states(window)
        if len(states) != len(window.ids):
            raise SettingsError(f"layer {self._layer} of {self.name} merges sub-words", "choose a lower one")
        if not np.isfinite(states).all():
            cure = "fetch or save the model again, or choose another layer"
            raise InputError(f"weights of layer {self._layer} are missing or not numbers", cure, file=self.name)
        return states


# -- sub-words into words -------------------------------------------------------------------------------------------


def _write(sentence: Sequence[str]) -> tuple[str, list[int]]:
    """The words with single spaces between them, and whose word each character is (-1: a space)."""
    word_at = [place for number, word in enumerate(sentence) for place in (*[number] * len(word), -1)]
    # Half a surrogate pair is not text to a tokenizer.
    return re.sub("[\ud800-\udfff]", "\ufffd", " ".join(sentence)), word_at


def _sub_words(window: Any, word_at: list[int], mute: set[int | None]) -> dict[int, list[int]]:
    """For each word that a window shows something of: the rows of its sub-words.

    A sub-word may reach over the space before a word, over a part of a character, or over several words; a special
    token reaches over nothing.
    """
    rows: dict[int, list[int]] = {}
    for row, (id, (start, end)) in enumerate(zip(window.ids, window.offsets, strict=True)):
        for word in set(word_at[start:end]) - {-1} if id not in mute else ():
            rows.setdefault(word, []).append(row)
    return rows


def _windowing(model: Any, tokenizer: Any) -> Mapping[str, Any]:
    """How the tokenizer is to cut a long text: into windows as long as the model allows, which overlap by a half."""
    bounds = [tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", None)]
    for name, module in model.named_modules():
        # RoBERTa's positions begin behind the one that padding has.
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            bounds.append(module.num_embeddings - module.padding_idx - 1)
    longest = min((bound for bound in bounds if bound and 0 < bound < _UNBOUNDED), default=None)
    if longest is None:
        return {"truncation": False}
    room = longest - tokenizer.num_special_tokens_to_add()
    if room < 1:
        raise ValueError(f"an input of {longest} sub-words leaves no room for a word")
    return {"truncation": True, "max_length": longest, "stride": room // 2}


# -- the model and its files ----------------------------------------------------------------------------------------

# Files alone, which run nothing and of which nothing is fetched.
_LOCAL: Mapping[str, Any] = {"trust_remote_code": False, "local_files_only": True}


def _load(folder: Path, config: Any) -> tuple[Any, Any]:
    """The model, of an encoder-decoder the encoder, and its tokenizer."""
    torch, transformers = _package("torch"), _package("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, use_fast=True, **_LOCAL)
    whole, info = transformers.AutoModel.from_pretrained(
        folder, config=config, use_safetensors=True, dtype=torch.float32, output_loading_info=True, **_LOCAL
    )
    # Many files lack what an encoder does not use. NaN spreads: the probe meets it where something needed is missing.
    missing = set(info["missing_keys"])
    with torch.no_grad():
        for key, weight in whole.named_parameters():
            if key in missing:
                weight.fill_(torch.nan)
    model = whole.get_encoder() if config.is_encoder_decoder else whole
    there = whole.get_input_embeddings().num_embeddings
    if len(tokenizer) > there:
        raise ValueError(f"the tokenizer has {len(tokenizer):,} sub-words, the model {there:,}")
    return model.eval(), tokenizer


def _drop_layers(model: Any, layer: int, probe: Any) -> int:
    """Take away the layers above the one that is read, where it stays the same bits; returns the size of its vectors.

    Some models end with a normalisation, so that their last layer is none that they would have in between.
    """
    expected: _Vectors = probe()
    stacks = [part for part in model.modules() if isinstance(part, _package("torch").nn.ModuleList)]
    stacks = [stack for stack in stacks if len(stack) == model.config.num_hidden_layers]
    for keep in (layer, layer + 1):
        if len(stacks) == 1 and keep < len(stacks[0]):
            dropped = list(stacks[0])[keep:]
            del stacks[0][keep:]
            with suppress(Exception):
                if np.array_equal(probe(), expected):
                    break
            stacks[0].extend(dropped)
    return int(expected.shape[1])


def _folder(name: str) -> Path:
    """The folder that a name means: itself, or what the hub has by that name."""
    hub = _package("huggingface_hub")
    try:
        path = Path(name)
        if name and path.is_dir():
            return path
        if path.is_file():
            raise InputError("is a file", "give the folder that it stands in", file=name)
        return Path(hub.snapshot_download(name, allow_patterns=list(_FILES), tqdm_class=_silent_bar()))
    except InputError:
        raise
    except ValueError:
        cure = "give the folder of a model, or its name on the Hugging Face hub"
        raise InputError("there is no such folder", cure, file=name) from None
    except Exception as error:  # the hub's client, and the network below it, have many errors
        problem = f"there is no such folder, and it cannot be fetched from the Hugging Face hub ({_reason(error)})"
        cure = "check the name, the network and, if the model is not open to all, your login"
        raise InputError(problem, cure, file=name) from None


def _check_files(folder: Path, name: str) -> None:
    if not (folder / "config.json").is_file():
        raise InputError("there is no config.json", "give the folder of a Hugging Face model", file=name)
    if not any(_matching(folder, _WEIGHTS)):
        cure = "save the model as safetensors, or choose one that is"
        if any(_matching(folder, ("*.bin", "*.pt", "*.pth", "*.ckpt"))):
            raise InputError("the weights are pickled, and opening a pickle can run anything", cure, file=name)
        raise InputError("there is no model.safetensors", cure, file=name)


def _hash(folder: Path, layer: int) -> str:
    """What names the vectors: the content of all files that a model consists of, and the layer."""
    digest = hashlib.sha256(f"{layer}".encode())
    for path in sorted(_matching(folder, _FILES)):
        with path.open("rb") as stream:
            digest.update(path.name.encode() + hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()[:16]


def _matching(folder: Path, patterns: Iterable[str]) -> set[Path]:
    return {path for pattern in patterns for path in folder.glob(pattern) if path.is_file()}


# -- the packages, and keeping them quiet ---------------------------------------------------------------------------


def _package(name: str) -> Any:
    return load_extra(name, purpose="a pretrained encoder", extra="huggingface")


def _silent_bar() -> Any:
    tqdm = _package("tqdm").tqdm
    return type("SilentBar", (tqdm,), {"__init__": lambda bar, *given, **named: tqdm.__init__(bar, disable=True)})


def _reason(error: Exception) -> str:
    """The first sentence of what a package says."""
    said = str(error).strip().partition("\n")[0].partition(". ")[0]
    return said[:200].rstrip(" .") or type(error).__name__


@contextmanager
def _apart() -> Iterator[None]:
    """Nothing is shown and one thread computes; afterwards all is as it was."""
    torch, shown = _package("torch"), _package("transformers.utils.logging")
    loggers = [logging.getLogger(package) for package in ("transformers", "huggingface_hub")]
    with _process, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        levels = [logger.level for logger in loggers]
        hook = shown.set_tqdm_hook(lambda bar, given, named: shown.EmptyTqdm(*given, **named))
        threads = torch.get_num_threads()
        try:
            for logger in loggers:
                logger.setLevel(logging.CRITICAL)
            torch.set_num_threads(1)
            yield
        finally:
            torch.set_num_threads(threads)
            shown.set_tqdm_hook(hook)
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
