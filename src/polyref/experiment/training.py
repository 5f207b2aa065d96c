"""Train the stages of a recipe: schedule, model and loop put together.

In:   a recipe.
Out:  for each stage a model folder; the model of the last one is what was wanted.
Not:  the loop (fit/loop.py), the models (model/), what a recipe may say (recipe.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from polyref.data import Input, read
from polyref.data.corpus import Corpus
from polyref.data.indexing import open_index
from polyref.errors import InputError, OutputError, SettingsError
from polyref.experiment.expanding import expanded
from polyref.experiment.log import Log, open_log
from polyref.experiment.pairs import Collation, PairBatches
from polyref.experiment.reading import toml_of
from polyref.experiment.recipe import Recipe, Stage
from polyref.experiment.validation import Validation
from polyref.experiment.words import Vocabularies, find_vocabularies
from polyref.feed import Stream
from polyref.fit.checkpoint import Counters, where_it_stands
from polyref.fit.loop import Step, fit
from polyref.fit.processes import Processes, join
from polyref.fit.settings import run_fingerprint
from polyref.model.captioner import Captioner
from polyref.model.features import Features
from polyref.model.folder import WEIGHTS, TrainedModel, save_model
from polyref.model.settings import CaptionerSettings
from polyref.model.translator import Translator
from polyref.model.weights import load_weights

Model = Translator | Captioner


@dataclass(frozen=True, slots=True)
class Trained:
    """What a stage came to: its folder, and its best validation."""

    folder: Path
    best: float
    best_updates: int
    updates: int
    epochs: int
    history: list[float]


def train_recipe(
    recipe: Recipe,
    *,
    reindex: bool = False,
    say: Callable[[str], None] = lambda line: None,
    on_step: Callable[[Step], None] = lambda step: None,
) -> list[Trained]:
    """Train the stages one after the other. A run that was stopped goes on where it was.

    `say` is given lines for a person, `on_step` every step of the loop.
    """
    run = recipe.stages[0].run
    if run.threads:
        torch.set_num_threads(run.threads)
    with join(run.device) as processes:
        return [_train(stage, processes, reindex, say, on_step) for stage in recipe.stages]


def _train(
    stage: Stage,
    processes: Processes,
    reindex: bool,
    say: Callable[[str], None],
    on_step: Callable[[Step], None],
) -> Trained:
    folder = _folder(stage)
    stream = _in_turn(processes, lambda: _stream(stage, folder, reindex))
    words = _in_turn(processes, lambda: _words(stage, folder, stream.corpus))
    features = Features.open(stage.data.features, stage.data.feature_ids or None) if stage.data.features else None
    dev = Corpus.of(read(stage.data.dev, stage.data.fields()))
    if not len(dev) or not len(stream):
        empty = stage.data.train if len(dev) else stage.data.dev
        raise InputError("holds no examples", "give some", file=empty)
    model = _model(stage, words, features, stream.corpus, dev, processes)
    collation = Collation(words, features, stage.data.fold_case, processes.device)
    validation = Validation(model, dev, collation, stage.validation, stage.validation.beam or stage.beam)
    if not processes.is_first:
        counters = _fit(stage, model, stream, collation, validation, folder, lambda step: None, processes)
        return _trained(folder, counters)
    with open_log(folder, where_it_stands(folder), say) as log:
        (folder / "recipe.toml").write_text(toml_of(stage), encoding="utf-8")
        _say_start(log, stage, model, stream, words, processes)

        def tell(step: Step) -> None:
            log.step(step, validation.scores)
            on_step(step)

        counters = _fit(stage, model, stream, collation, validation, folder, tell, processes)
        save_model(TrainedModel(model, words.source, words.target, stage.beam, stage.data.fold_case), folder)
        log.line(f"best: {stage.validation.goal} {counters.best:.4g} after {counters.best_updates:,} updates: {folder}")
    return _trained(folder, counters)


def _fit(
    stage: Stage,
    model: Model,
    stream: Stream,
    collation: Collation,
    validation: Validation,
    folder: Path,
    on_step: Callable[[Step], None],
    processes: Processes,
) -> Counters:
    run = run_fingerprint(
        stage.fit,
        asdict(stage.model),
        asdict(stage.batch),
        asdict(stage.validation),
        stage.data.fold_case,
        stream.fingerprint,
        validation.corpus.fingerprint,
        _hash_of(model),  # vocabulary, seed, standardisation and what it starts from
    )
    cost: Callable[[Any], tuple[torch.Tensor, int]] = model.loss
    return fit(
        model,
        batches=PairBatches(stream, collation, stage.batch, processes),
        cost=cost,
        validate=validation,
        settings=stage.fit,
        folder=folder,
        run=run,
        on_step=on_step,
        processes=processes,
    )


# -- what a run is made of ------------------------------------------------------------------------------------------


def _folder(stage: Stage) -> Path:
    folder = Path(stage.run.output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written ({error.strerror}); give another folder") from None
    return folder


def _in_turn(processes: Processes, make: Callable[[], Any]) -> Any:
    """What the first process makes on disk, the others find there."""
    if processes.is_first:
        found = make()
    processes.wait()
    return found if processes.is_first else make()


def _stream(stage: Stage, folder: Path, reindex: bool) -> Stream:
    path = expanded(stage.data.train, folder, stage.expand, stage.data.fields())
    try:
        corpus = open_index(Input.of(path), stage.data.fields(), renew=reindex)
        return Stream(corpus, stage.schedule.settings(stage.run.seed))
    except InputError as error:
        error.file = error.file or path
        raise


def _words(stage: Stage, folder: Path, corpus: Corpus) -> Vocabularies:
    return find_vocabularies(
        folder,
        stage.run.init_from,
        corpus,
        stage.subwords,
        with_source=stage.kind == "translator",
        fold_case=stage.data.fold_case,
    )


def _model(
    stage: Stage, words: Vocabularies, features: Features | None, corpus: Corpus, dev: Corpus, processes: Processes
) -> Model:
    """A model with its first weights: drawn by the seed, or those of another model."""
    model: Model
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(stage.run.seed)
        if isinstance(stage.model, CaptionerSettings):
            model = Captioner(stage.model, words=len(words.target))
        else:
            assert words.source is not None
            model = Translator(stage.model, source_words=len(words.source), target_words=len(words.target))
    if features is not None:
        ids = [text.decode() for text in _all_sources(corpus)]
        features.check([*ids, *(text.decode() for text in _all_sources(dev))], size=_feature_size(stage))
        if stage.data.standardise and isinstance(model, Captioner):
            model.standardise(*features.standardisation(list(dict.fromkeys(ids))))
    if stage.run.init_from:
        load_weights(model, Path(stage.run.init_from) / WEIGHTS)
    return model.to(processes.device)


def _feature_size(stage: Stage) -> int:
    if not isinstance(stage.model, CaptionerSettings):
        raise SettingsError('"data.features" is for captioners; take it out, or set model.kind')
    return stage.model.feature_size


def _all_sources(corpus: Corpus) -> list[bytes]:
    texts = corpus.texts["sources"]
    return [texts[number] for number in range(len(corpus))]


def _hash_of(model: torch.nn.Module) -> str:
    found = hashlib.blake2b(digest_size=16)
    for name, weight in model.state_dict().items():
        found.update(name.encode())
        found.update(weight.detach().cpu().numpy().tobytes())
    return found.hexdigest()


def _say_start(log: Log, stage: Stage, model: Model, stream: Stream, words: Vocabularies, processes: Processes) -> None:
    weights = sum(weight.numel() for weight in model.parameters())
    sizes = f"{len(words.target):,} target" + ("" if words.source is None else f" and {len(words.source):,} source")
    name = f'stage "{stage.name}": ' if stage.name else ""
    many = "" if processes.ranks == 1 else f", {processes.ranks} processes"
    log.line(f"{name}{stage.kind} of {weights:,} weights, {sizes} subwords; {processes.device.type}{many}")
    log.line(f"{len(stream.corpus):,} examples, {len(stream):,} pairs an epoch by {stage.schedule.name}")


def _trained(folder: Path, counters: Counters) -> Trained:
    assert counters.best is not None
    return Trained(
        folder, counters.best, counters.best_updates, counters.updates, counters.epoch, list(counters.history)
    )
