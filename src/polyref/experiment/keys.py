"""What each key of a recipe means, in words.

In:   nothing. Out: a table of all keys with their defaults, for docs/recipes.md and `polyref train --keys`.
Not:  the defaults and the checks themselves (recipe.py and the settings of each room).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import Any

from polyref.experiment.reading import toml_value
from polyref.experiment.recipe import DECAY, MODELS, NOT_CHOSEN, SECTIONS, TABLES
from polyref.model import CAPTIONING, TRANSLATING, BeamSettings

MEANINGS: dict[str, str] = {
    "run.output": "The folder for the model and all else that the run leaves. Must be given.",
    "run.seed": "Decides first weights, order and dropout. The same seed gives the same weights.",
    "run.init_from": "A model folder to start from: its weights, and its subwords. The model must have the same sizes.",
    "run.threads": "Threads of torch; 0 is torch's own choice.",
    "run.device": "auto takes a GPU if there is one; cpu; cuda.",
    "data.train": "The training set, in any format that polyref reads. Must be given.",
    "data.dev": "The examples that validate. Must be given.",
    "data.features": "Captioner: the file with the features of the images, found by the source of an example.",
    "data.feature_ids": "Captioner: a file with an id a line, for features in an npy file.",
    "data.standardise": "Captioner: give each feature the mean 0 and the deviation 1 over the training set.",
    "data.fold_case": "Train and generate in small letters, sources too.",
    "data.id_field": "The key of an example's id.",
    "data.source_field": "The key of the source.",
    "data.references_field": "The key of the list of references.",
    "expand.per_example": "Expand the training set first, to so many references an example, gold ones included (K').",
    "expand.align": "hard: equal words are linked; soft: words whose vectors are alike.",
    "expand.encoder": "Soft alignment's vectors, as for expand --encoder; empty is the built-in encoder.",
    "expand.similarity": "cosine as it is, or rescaled by what unrelated words share.",
    "expand.penalty": "What a soft link must beat.",
    "expand.adaptive": "A penalty that gives way, in the place of a fixed one; a table.",
    "expand.adaptive.start": "Where the penalty starts.",
    "expand.adaptive.step": "By how much it is lowered.",
    "expand.adaptive.floor": "How low it may get.",
    "expand.adaptive.at_least": "How many sentences are enough.",
    "expand.veto": "The kinds of words that soft alignment never links; [] for none.",
    "expand.position": "What a soft link loses from one end of a reference to the other.",
    "expand.fluency": "Leave out what is less fluent than the gold references by more than this.",
    "expand.keep_lattice": "Keep the lattices, for fresh paths.",
    "expand.workers": "Processes that expand.",
    "schedule.name": "first, sample-one, uniform or shuffle.",
    "schedule.order": "Of the examples, for all but shuffle: given, or shuffled anew in each epoch.",
    "schedule.limit": "References an example: all gold ones, then pseudo-references by rank.",
    "schedule.gold_only": "Leave pseudo-references out.",
    "schedule.draw": "shuffle: draw references by weight, rather than take each once.",
    "schedule.gold_share": "sample-one, shuffle: the share of gold in what is drawn.",
    "schedule.fresh": "Draw new pseudo-references in each epoch from lattices that were kept; a table.",
    "schedule.fresh.per_example": "How many an example gets.",
    "schedule.fresh.by": "uniform: all that pass are as likely; rank: the next best in each epoch.",
    "schedule.fresh.min_bleu": "The least BLEU of a fresh one.",
    "schedule.fresh.fluency": "How much less fluent than the gold references it may be.",
    "batch.pairs": "Pairs in a batch; without limit where tokens are given and pairs are not. Of each process.",
    "batch.tokens": "Tokens in a batch once it is padded: pairs times the longest.",
    "batch.bucket": "Sort the pairs of so many batches by length, so that little is padded. Not for uniform.",
    "subwords.source": "Subwords of the sources (translator); 259 at least.",
    "subwords.target": "Subwords of the references; 259 at least.",
    "subwords.joint": "One vocabulary of target's size for sources and references together.",
    "model.kind": "translator or captioner.",
    "model.embedding_size": "Numbers in the vector of a subword; the size of the captioner's fully connected layer.",
    "model.state_size": "Numbers in a state of the decoder; each direction of the encoder has half of it.",
    "model.layers": "Layers of the encoder, and as many of the decoder.",
    "model.dropout": "The share of numbers that is left out in training.",
    "model.label_smoothing": "The share of probability that training spreads over all subwords.",
    "model.input_feeding": "Translator: the decoder reads what it attended to last. Slower.",
    "model.tied": "One table to read target words by and to predict them by; sizes must be equal.",
    "model.feature_size": "Captioner: numbers that describe an image.",
    "fit.epochs": "The most epochs.",
    "fit.optimiser": "sgd, as the paper has it, or adamw.",
    "fit.learning_rate": "Where it starts.",
    "fit.weight_decay": "What the optimiser takes off the weights.",
    "fit.clip": "The largest norm of all gradients together.",
    "fit.decay": "When and how the learning rate is lowered; a table.",
    "fit.decay.factor": "The rate's factor after a validation without gain; 1 leaves it as it is.",
    "fit.decay.gain": "What counts as a gain: above 0, and at least this share of the best validation.",
    "fit.decay.stop_after": "So many validations without gain, in all, end the run.",
    "fit.save_every": "Updates between two checkpoints; there is one after each epoch, too.",
    "fit.average": "Keep an exponential average of the weights, such as 0.999, and validate and keep that.",
    "fit.validate_every": "Updates between two validations; without it, after each epoch.",
    "fit.recent": "How many validations the mean is taken over that patience looks at.",
    "fit.patience": "End the run when that mean has not been at its best for so many validations.",
    "fit.precision": "float32, or bfloat16 on GPUs that are made for it: attention and output words, not recurrences.",
    "validation.metrics": "Any of bleu, cider, rouge-l and perplexity.",
    "validation.goal": "The one of them that decides which weights are best.",
    "validation.tokenizer": "The tokens of all scores; without it 13a for BLEU, ptb for the others.",
    "validation.fold_case": "Score without telling capitals from small letters.",
    "validation.examples": "Validate on so many examples, spread over the file, by whatever measure; 0 is all.",
    "validation.at_once": "Examples that are searched together.",
    "validation.beam": "How to search in validation, where it is not as in [beam]; a table with the keys of [beam].",
    "beam.beam": "The width of the beam.",
    "beam.best": "Hypotheses that are wanted of each source.",
    "beam.scoring": "plain: log-probability; normalised: by length; rewarded: with the bounded length reward.",
    "beam.power": "normalised: the power of the length.",
    "beam.reward": "rewarded: what a token is worth.",
    "beam.bound": "rewarded: up to so many times the length of the source.",
    "beam.longest": "The most tokens of a hypothesis.",
    "beam.stop_early": "End when nothing better can come. The result is the same without.",
}


def keys() -> Iterator[tuple[str, str]]:
    """Every key, with its default in TOML; empty where there is none."""
    for section, made in SECTIONS.items():
        if section == "model":
            yield "model.kind", '"translator"'
            yield from _model_keys()
        elif section == "beam":
            yield from _beam_keys()
        elif section != "grid":
            yield from _keys(section, made)


def _keys(prefix: str, made: Any) -> Iterator[tuple[str, str]]:
    for one in fields(made):
        if prefix == "fit" and one.name in NOT_CHOSEN:
            continue
        inner = TABLES.get(one.name)
        default = getattr(DECAY, one.name) if prefix == "fit.decay" else one.default
        yield f"{prefix}.{one.name}", "" if inner is not None else _toml(default)
        if inner is not None:
            yield from _keys(f"{prefix}.{one.name}", inner)


def _model_keys() -> Iterator[tuple[str, str]]:
    """Of both models; where their defaults differ, the translator's and then the captioner's."""
    defaults: dict[str, list[str]] = {}
    for made in MODELS.values():
        for one in fields(made):
            defaults.setdefault(one.name, []).append(_toml(one.default))
    for name, found in defaults.items():
        yield f"model.{name}", " or ".join(dict.fromkeys(found))


def _beam_keys() -> Iterator[tuple[str, str]]:
    for one in fields(BeamSettings):
        found = [_toml(getattr(beam, one.name)) for beam in (TRANSLATING, CAPTIONING)]
        yield f"beam.{one.name}", " or ".join(dict.fromkeys(found))


def _toml(value: Any) -> str:
    return "" if value is MISSING or value is None else toml_value(value)


def table() -> str:
    """All keys as a table in Markdown."""
    rows = [f"| `{key}` | {f'`{default}`' if default else ''} | {MEANINGS[key]} |" for key, default in keys()]
    return "\n".join(["| key | default | |", "|---|---|---|", *rows]) + "\n"
