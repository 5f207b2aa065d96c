"""Train a language model, and keep it as an encoder.

In:   text or data sets, and perhaps a table of word vectors to start from.
Out:  a folder that open_encoder opens; on the way, checkpoints from which a killed run goes on.
Not:  the model (language_model.py), the loop (fit/), the folder's form (context.py), showing progress (cli/).
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from polyref.encode.context import CONFIG, ContextEncoder, EncoderFolder, read_config, write_folder
from polyref.encode.corpus import Corpus, TrainingText, TrainSettings, read_corpus, spread
from polyref.encode.encoder import measure_baseline, unrelated_sentences
from polyref.encode.language_model import LanguageModel, exported, learn_spelling
from polyref.encode.network import INPUT_STEP, STATE_STEP, on_grid
from polyref.encode.vectors import WordVectors
from polyref.errors import SettingsError
from polyref.files import make_folder, taken, writing
from polyref.fit import run_fingerprint
from polyref.fit.checkpoint import Counters, has_checkpoint
from polyref.fit.loop import Step, fit

VALIDATION_WORDS_AT_ONCE = 2048
CENTRE_SENTENCES = 5000
# Of the cosine of two words, the share that their own vectors have; the rest is that of their states.
WORD_SHARE = 0.3


def train_encoder(
    paths: Sequence[str],
    folder: str | Path,
    settings: TrainSettings | None = None,
    *,
    vectors: str | None = None,
    without: Sequence[str] = (),
    on_start: Callable[[Corpus], None] = lambda corpus: None,
    on_step: Callable[[Step, int], None] = lambda step, batches: None,
) -> ContextEncoder:
    """Train an encoder into a folder, and open it. A run that was killed goes on where it was, given the same settings.

    One that is finished is only opened. `on_start` is told what is trained on, `on_step` each update and epoch, with
    the number of batches in an epoch.
    """
    settings = settings or TrainSettings()
    folder = Path(folder)
    table = None if vectors is None else WordVectors.load(vectors)
    if table is not None:
        settings = replace(settings, model=replace(settings.model, vector_size=table.size))
    elif settings.model.freeze:
        raise SettingsError("there are no vectors to freeze", "give a table of vectors")
    _check_finished(folder, settings)  # before the text is read, which may take a while
    corpus = read_corpus(paths, without, settings, table)
    work = folder / "training"
    with taken(make_folder(folder)):
        if not _check_finished(folder, settings, _text_facts(corpus, table)):
            on_start(corpus)
            with writing(folder, "give another folder"):
                work.mkdir(exist_ok=True)
            model = make_model(corpus, settings, table, resuming=has_checkpoint(work))
            counters = _fit(model, corpus, settings, "" if table is None else table.hash, work, on_step)
            config = _description(model, corpus, settings, table, counters)
            found = centred(EncoderFolder(config, corpus.vocabulary, exported(model), hash=""), corpus)
            # A folder with a description is a finished one: it is written once, when all is known.
            write_folder(folder, found.config, found.vocabulary, found.weights)
        shutil.rmtree(work, ignore_errors=True)
        return ContextEncoder.load(str(folder))


def _check_finished(folder: Path, settings: TrainSettings, facts: dict[str, Any] | None = None) -> bool:
    """Whether an encoder with these settings, and of this text, is finished in a folder; another one is refused."""
    if not (folder / CONFIG).exists():
        return False
    training = read_config(folder).get("training")
    known = training if isinstance(training, dict) else {}
    wanted = {"settings": _as_written(settings), **(facts or {})}
    there = {**known, "settings": _as_written(known.get("settings"))}
    if any(there.get(name) != value for name, value in wanted.items()):
        problem = f"{folder} holds a finished encoder with other settings or other text"
        raise SettingsError(problem, "give another folder, or delete it")
    return True


def _as_written(settings: TrainSettings | object) -> Any:
    """Settings as JSON has them, without what changes nothing about an encoder."""
    written = json.loads(json.dumps(asdict(settings) if isinstance(settings, TrainSettings) else settings))
    if isinstance(written, dict) and isinstance(written.get("fit"), dict):
        written["fit"].pop("save_every", None)
    return written


def _fit(
    model: LanguageModel,
    corpus: Corpus,
    settings: TrainSettings,
    table: str,
    work: Path,
    on_step: Callable[[Step, int], None],
) -> Counters:
    batches_in_epoch = len(corpus.training.batches(settings.words_at_once))

    def batches(epoch: int, start: int) -> Iterator[torch.Tensor]:
        order = np.random.default_rng((settings.fit.seed, epoch))
        return map(torch.from_numpy, corpus.training.batches(settings.words_at_once, order)[start:])

    depends_on = (asdict(settings.model), settings.words_at_once, settings.held_out, settings.cutoff)
    text = (corpus.hash, corpus.training.hash)  # its words, and their order
    return fit(
        model,
        batches=batches,
        cost=model.cost,
        validate=lambda: perplexity(model, corpus.validation),
        settings=settings.fit,
        folder=work,
        run=run_fingerprint(settings.fit, depends_on, text, corpus.vocabulary.hash, table),
        on_step=lambda step: on_step(step, batches_in_epoch),
    )


def _description(
    model: LanguageModel, corpus: Corpus, settings: TrainSettings, table: WordVectors | None, counters: Counters
) -> dict[str, Any]:
    """What a person wants to know of an encoder, and what opening it needs."""
    return {
        "kind": "bidirectional language model",
        "vector_size": settings.model.vector_size,
        "state_size": settings.model.state_size,
        "buckets": settings.model.buckets,
        "cutoffs": model.cutoffs,
        "tokenizer": settings.text.tokenizer,
        "fold_case": settings.text.fold_case,
        "perplexity": None if counters.best is None else round(counters.best, 3),
        "licence": settings.licence,
        "training": {
            **_text_facts(corpus, table),
            "epochs": counters.epoch,
            "best_epoch": counters.best_epoch + 1,
            "perplexity_by_epoch": counters.history,
            "settings": asdict(settings),
        },
        "word_share": WORD_SHARE,
        "baseline": 0.0,
    }


def _text_facts(corpus: Corpus, table: WordVectors | None) -> dict[str, Any]:
    """What an encoder was trained on."""
    return {
        "text_hash": corpus.hash,
        "sentences": corpus.sentences,
        "training_words": corpus.training.tokens,
        "validation_words": corpus.validation.tokens,
        "vectors_hash": None if table is None else table.hash,
    }


def centred(found: EncoderFolder, corpus: Corpus) -> EncoderFolder:
    """Give an encoder its centre, the means of vectors and states over some of its text, and its baseline."""
    text = corpus.training
    share = CENTRE_SENTENCES / sum(map(len, text.by_length.values()))
    some = [row for rows in text.by_length.values() for row in rows[: max(1, int(len(rows) * share))]]
    sample = [[text.words[k] for k in row] for row in some]
    encoder = ContextEncoder(found, "new")
    states = encoder.states(sample)
    own = encoder.word_vectors([word for sentence in sample for word in sentence])
    at_words = [forward[1:] for forward, _ in states], [backward[:-1] for _, backward in states]
    means = np.stack([np.concatenate(side).mean(0, dtype=np.float64) for side in at_words])
    centre = {
        "centre.own": on_grid(own.mean(0, dtype=np.float64), INPUT_STEP).astype(np.float16),
        "centre.states": on_grid(means, STATE_STEP).astype(np.float16),
    }
    found = replace(found, weights=found.weights | centre)
    return replace(found, config=found.config | {"baseline": _baseline(found, sample)})


def _baseline(found: EncoderFolder, own: Sequence[Sequence[str]]) -> float:
    """On the sample text of the package; of an encoder for another language, or for few words, on its own text.

    Of another language's text such an encoder knows the full stops, which are all alike.
    """
    sample: Sequence[Sequence[str]] = unrelated_sentences() if found.vocabulary.is_of_sample() else spread(own)
    try:
        return measure_baseline(ContextEncoder(found, "new"), sample)
    except SettingsError:
        return 0.0  # so little text tells nothing; it can be measured on more later


def make_model(
    corpus: Corpus, settings: TrainSettings, table: WordVectors | None, *, resuming: bool = False
) -> LanguageModel:
    """A new model; with a table, its words start from there, and the pieces from the spelling of those."""
    start = None if table is None else table.encode([corpus.vocabulary.words])[0]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.fit.seed)
        vectors = None if start is None else start.vectors.astype(np.float32)
        model = LanguageModel(settings.model, corpus.vocabulary, corpus.training.words, vectors)
    if start is not None and not resuming:
        learn_spelling(model, settings.fit.seed)
        missing = torch.from_numpy(np.flatnonzero(~start.known))
        if len(missing):
            with torch.no_grad():
                model.vectors[missing] = torch.nn.functional.normalize(model.spelled(missing), dim=1)
    return model


def perplexity(model: LanguageModel, text: TrainingText) -> float:
    """Of each word, given all the others around it."""
    total, count = 0.0, 0
    with torch.inference_mode():
        for rows in text.batches(VALIDATION_WORDS_AT_ONCE):
            cost, words = model.cost(torch.from_numpy(rows))
            total += float(cost)
            count += words
    return math.exp(min(total / count, 50.0)) if total == total else math.nan
