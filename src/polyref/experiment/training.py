"""Train the stages of a recipe: schedule, model and loop put together.

In:   a recipe.
Out:  for each stage a model folder; the model of the last one is what was wanted.
Not:  the loop (fit/loop.py), the models (model/), what a recipe may say (recipe.py).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from polyref.data import Input, ReadSettings, open_output, read
from polyref.data.corpus import Corpus, open_index
from polyref.errors import InputError, SettingsError
from polyref.experiment.folder import Log, check_tensorboard, open_log
from polyref.experiment.inputs import check_files, expanded, find_vocabularies, texts_of
from polyref.experiment.pairs import Collation, PairBatches
from polyref.experiment.reading import toml_of
from polyref.experiment.recipe import Recipe, Stage
from polyref.experiment.softening import Softening
from polyref.experiment.validation import Validation
from polyref.features.features import Features
from polyref.feed import Stream
from polyref.files import make_folder, taken
from polyref.fit import run_fingerprint
from polyref.fit.checkpoint import BEST, Counters, has_checkpoint, where_it_stands
from polyref.fit.loop import Step, check_run, fit, is_finished, why_over
from polyref.fit.processes import Processes, join
from polyref.model.folder import SOURCE, TARGET, TrainedModel, Vocabularies, new_model, save_model, start_from
from polyref.schedule.batches import count_batches
from polyref.schedule.schedules import shown

_NOISE = 2.0
_RATHER = 'set validation.metrics = ["perplexity"] and validation.goal = "perplexity"'


@dataclass(frozen=True, slots=True)
class Trained:
    """What a stage came to: its folder, and its best validation."""

    folder: Path
    best: float
    best_updates: int
    updates: int
    epochs: int
    history: list[float]
    ended: str  # why, in words


def train_recipe(
    recipe: Recipe,
    *,
    say: Callable[[str], None] = lambda line: None,
    on_step: Callable[[Step], None] = lambda step: None,
) -> list[Trained]:
    """Train the stages one after the other. A run that was stopped goes on where it was.

    `say` is given lines for a person, `on_step` every step of the loop.
    """
    check_files(recipe)
    if any(stage.fit.tensorboard for stage in recipe.stages):
        check_tensorboard()
    run = recipe.stages[0].run
    with _threads(run.threads), join(run.device) as processes:
        folder = make_folder(recipe.output)
        with ExitStack() as kept:
            for stage in recipe.stages if processes.is_first else ():
                kept.enter_context(taken(make_folder(stage.run.output)))
            _check_stages(recipe.stages)
            return [_train(_assembled(one, folder, processes), say, on_step) for one in recipe.stages]


def _check_stages(stages: Sequence[Stage]) -> None:
    """A stage that was begun must find the one that it started from as it was."""
    for before, after in pairwise(stages):
        if has_checkpoint(Path(after.run.output)) and not is_finished(Path(before.run.output), before.fit):
            raise SettingsError(
                f'stage "{before.name}" would train on, but "{after.name}" has begun from it; '
                "give the epochs and updates that it had, or another folder"
            )


def _train(run: _Run, say: Callable[[str], None], on_step: Callable[[Step], None]) -> Trained:
    check_run(run.folder, run.name, run.processes)  # before anything is written that another run could have left
    if run.processes.is_first:
        position = where_it_stands(run.folder)
        with open_log(run.folder, position, say, tensorboard=run.stage.fit.tensorboard) as log:
            if position is not None and not is_finished(run.folder, run.stage.fit):
                log.line(f"goes on after {position.updates:,} updates")
            counters = _logged(run, log, on_step)
    else:
        counters = run.fit(lambda step: None)
    assert counters.best is not None
    reached = counters.best_updates, counters.updates, counters.epoch
    return Trained(run.folder, counters.best, *reached, list(counters.history), why_over(counters, run.stage.fit))


def _logged(run: _Run, log: Log, on_step: Callable[[Step], None]) -> Counters:
    """Train, and leave the model, the recipe and the log in the folder."""
    folder, goal = run.folder, run.stage.validation.goal
    with open_output(str(folder / "recipe.toml")) as stream:
        stream.write(toml_of(run.stage).encode())
    _say_start(log, run)
    planned = run.planned_updates()

    def tell(step: Step) -> None:
        log.step(step, run.validation.scores)
        if step.is_best and step.what != "end":  # so that there is a model while the run goes on
            save_model(run.trained, folder, weights=folder / BEST)
        on_step(replace(step, planned=planned))

    counters = run.fit(tell)
    save_model(run.trained, folder)
    log.line(f"ended after {counters.updates:,} updates: {why_over(counters, run.stage.fit)}")
    log.line(f"best: {goal} {counters.best:.4g} after {counters.best_updates:,} updates  {log.sparkline}")
    if goal == "bleu" and (counters.best or 0.0) < _NOISE:
        log.line(f"a BLEU below {_NOISE:g} is noise, which has chosen weights and learning rate; {_RATHER}")
    return counters


@contextmanager
def _threads(wanted: int) -> Iterator[None]:
    """So many threads of torch; 0 leaves them as they are."""
    before = torch.get_num_threads()
    torch.set_num_threads(wanted or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


# -- what a run is made of ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Run:
    """All that takes part in a run; `name` changes with anything that its weights depend on."""

    stage: Stage
    folder: Path
    processes: Processes
    stream: Stream
    trained: TrainedModel
    validation: Validation
    name: str

    def planned_updates(self) -> int | None:
        """The most updates that it will have; None where that would take long to count."""
        limits = [] if self.stage.fit.updates is None else [self.stage.fit.updates]
        if math.isfinite(self.stage.fit.most_epochs):
            if self.stage.batch.pairs is None or self.stage.batch.tokens is not None:
                return min(limits, default=None)
            batches = count_batches(self.stream.schedule, 0, self.stage.batch)
            limits.append(int(self.stage.fit.most_epochs) * -(-batches // self.processes.ranks))
        return min(limits)

    def fit(self, on_step: Callable[[Step], None]) -> Counters:
        collation = self.validation.collation
        changes = Softening(self.stream, collation).of if self.stream.settings.soft.share else None
        return fit(
            self.trained.model,
            batches=PairBatches(self.stream, collation, self.stage.batch, self.processes, changes),
            cost=self.trained.model.loss,
            validate=self.validation,
            settings=self.stage.fit,
            folder=self.folder,
            run=self.name,
            on_step=on_step,
            processes=self.processes,
        )


def _assembled(stage: Stage, top: Path, processes: Processes) -> _Run:
    data, folder = stage.data, make_folder(stage.run.output)
    stream: Stream = _in_turn(processes, lambda: _stream(stage, top))
    learned, loaded = partial(find_vocabularies, stage, folder), partial(Vocabularies.load, folder, stage.kind)
    words: Vocabularies = _in_turn(processes, lambda: learned(stream.corpus), loaded)
    features = Features.open(data.features, data.feature_ids or None) if data.features else None
    dev = Corpus.of(read(data.dev, data.fields))
    if not len(dev) or not len(stream):
        raise InputError("holds no examples", "give some", file=data.train if len(dev) else data.dev)
    model = _model(stage, words, features, stream.corpus, dev).to(processes.device)
    trained = TrainedModel(model, *words, stage.beam, data.fold_case)
    beam = stage.validation.beam or stage.beam
    validation = Validation(dev, Collation(trained, features), stage.validation, beam)
    sources = [] if features is None else [*texts_of(stream.corpus, "sources"), *texts_of(dev, "sources")]
    name = run_fingerprint(
        stage.fit,
        asdict(stage.model),
        asdict(stage.batch),
        asdict(replace(stage.validation, beam=beam)),
        data.fold_case,
        None if stage.run.init_from else asdict(stage.subwords),
        [_hash_of_file(folder / name) for name in (SOURCE, TARGET)],
        stream.fingerprint,
        dev.fingerprint,
        "" if features is None else features.fingerprint(sources),
        _hash_of(model),  # seed, standardisation and what it starts from
    )
    return _Run(stage, folder, processes, stream, trained, validation, name)


def _in_turn(processes: Processes, make: Callable[[], Any], find: Callable[[], Any] | None = None) -> Any:
    """What the first process makes on disk, the others find there, by making it again if no other way is given."""
    if processes.is_first:
        made = make()
    processes.wait()
    return made if processes.is_first else (find or make)()


def _stream(stage: Stage, top: Path) -> Stream:
    path = expanded(stage, top)
    try:
        corpus = open_index(Input.of(path, ReadSettings(fields=stage.data.fields)))
        return Stream(corpus, stage.schedule)
    except InputError as error:
        error.file = error.file or path
        raise


def _model(stage: Stage, words: Vocabularies, features: Features | None, corpus: Corpus, dev: Corpus) -> Any:
    """A model with its first weights: drawn by the seed, or those of another model."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(stage.run.seed)
        model = new_model(stage.model, *words)
    if features is not None:
        ids = list(texts_of(corpus, "sources"))
        features.check([*ids, *texts_of(dev, "sources")], size=stage.model.feature_size)
        if stage.data.standardise:
            model.standardise(*features.standardisation(list(dict.fromkeys(ids))))
    if stage.run.init_from:
        start_from(stage.run.init_from, model, fold_case=stage.data.fold_case)
    return model


def _hash_of_file(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest() if path.exists() else ""


def _hash_of(model: torch.nn.Module) -> str:
    found = hashlib.blake2b(digest_size=16)
    for name, weight in model.state_dict().items():
        found.update(name.encode())
        found.update(weight.detach().cpu().numpy().tobytes())
    return found.hexdigest()


def _say_start(log: Log, run: _Run) -> None:
    stage, processes, trained = run.stage, run.processes, run.trained
    train, dev = run.stream.corpus, run.validation.corpus
    weights = sum(weight.numel() for weight in trained.model.parameters())
    source = "" if trained.source is None else f" and {len(trained.source):,} source"
    name = f'stage "{stage.name}": ' if stage.name else ""
    many = "" if processes.ranks == 1 else f", {processes.ranks} processes"
    sizes = f"{len(trained.target):,} target{source} subwords"
    log.line(f"{name}{stage.kind} of {weights:,} weights, {sizes}; {processes.device.type}{many}")
    by = shown(stage.schedule.schedule.schedule)
    log.line(f"{len(train):,} examples, {len(run.stream):,} pairs per epoch by {by}")
    if known := len(set(texts_of(dev, "ids")).intersection(texts_of(train, "ids"))):
        log.line(f"{known:,} of {len(dev):,} validation examples have the id of a training example")
