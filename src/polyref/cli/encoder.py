"""`polyref encoder`: train, list, show and calibrate encoders, which give words their vectors."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import exp, inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyref.cli import options as o
from polyref.encode import Choosy, Encoder, VectorSettings, measure_baseline, open_encoder
from polyref.encode.context import CONFIG, ContextEncoder, read_config, write_config
from polyref.encode.corpus import Corpus, TrainSettings, Use, unrelated_of
from polyref.encode.opening import BUILTIN, DEFAULT, builtin_folder
from polyref.errors import InputError, SettingsError, load_extra
from polyref.fit import FitSettings
from polyref.model.settings import check_size
from polyref.text import TextSettings

if TYPE_CHECKING:
    from polyref.fit.loop import Step

Texts = Annotated[list[str], o.argument("TEXT", "One sentence per line (.txt), or data sets in any format.")]
Name = Annotated[str, o.argument("NAME", "english, a folder, vectors:FILE or huggingface:NAME.")]
MOST_THREADS = 1024
_NOT_OF_ENCODERS = ("average", "validate_every", "recent", "patience", "precision")


@o.from_settings(settings=("buckets", "spelled", "goal", "weight_decay", *_NOT_OF_ENCODERS))
def train(
    texts: Texts,
    *,
    output: Annotated[str, o.output("Folder of the encoder.", "FOLDER")],
    without: Annotated[list[str] | None, o.option("FILE", "Leave out these sentences; may be given again.")] = None,
    vectors: Annotated[str | None, o.option("FILE", "Start from vectors: npz, GloVe or fastText.")] = None,
    settings: TrainSettings,
    threads: Annotated[int | None, o.option("N", "Number of threads of torch.  [default: all cores]")] = None,
    as_json: o.JsonOption = False,
) -> None:
    """Train an encoder on your own text.

    It is the paper's bidirectional language model. A run that was stopped goes on when the same command is given again.
    Needs torch: pip install "polyref[torch]".
    """  # fmt: skip
    torch = load_extra("torch", purpose="training an encoder", extra="torch")
    from polyref.encode.training import train_encoder

    if not output.strip():
        raise SettingsError("the output has no name", "give -o FOLDER")
    if threads is not None:
        check_size("threads", threads, MOST_THREADS)
        torch.set_num_threads(threads)
    started: list[Corpus] = []
    with _progress(settings.fit) as (show_start, on_step):

        def on_start(corpus: Corpus) -> None:
            started.append(corpus)
            show_start(corpus)

        train_encoder(
            texts, output, settings, vectors=vectors, without=without or (), on_start=on_start, on_step=on_step
        )
    if not started:
        o.note(f"{output}: this encoder is finished; there is nothing left to train")
    facts = _facts(open_encoder(output))
    o.summarise(facts, _shown(facts), as_json=as_json)


@contextmanager
def _progress(settings: FitSettings) -> Iterator[tuple[Callable[[Corpus], None], Callable[[Step, int], None]]]:
    """A line for each epoch, and a bar where there is a terminal, both on standard error."""
    with o.training_bar() as show:

        def start(corpus: Corpus) -> None:
            words = corpus.training.tokens, corpus.validation.tokens
            o.note(f"{corpus.sentences:,} sentences: {words[0]:,} words to train on, {words[1]:,} to validate")
            readable, predicted = len(corpus.vocabulary.words), corpus.vocabulary.predicted
            o.note(f"{readable:,} different words can be read, {predicted:,} predicted")

        def tell(step: Step, batches: int) -> None:
            show(replace(step, planned=int(min(settings.most_epochs * batches, settings.updates or inf))))
            if step.what in ("epoch", "end"):
                best = "" if step.validation != step.best else "  best so far"
                perplexity = f"{exp(min(step.loss, 50)):.2f}, in validation {step.validation:.2f}"
                o.note(f"epoch {step.epoch + 1:>3}  rate {step.learning_rate:.2g}  perplexity {perplexity}{best}")

        yield start, tell


@o.from_settings()
def list_encoders(
    folders: Annotated[
        list[str] | None, o.argument("FOLDER", "Also list those in these folders.  [default: here]")
    ] = None,
    as_json: o.JsonOption = False,
) -> None:
    """List the encoders of the package, and those in folders."""
    places = [(name, builtin_folder(name)) for name in BUILTIN]
    for folder in folders or ["."]:
        if not Path(folder).is_dir():
            raise SettingsError(f"{folder} is not a folder", "name one that holds encoders")
        places += [(str(path.parent), path.parent) for path in sorted(Path(folder).glob(f"*/{CONFIG}"))]
    for name, path in places:
        try:
            config = read_config(path)
        except InputError:
            continue  # other programs have files of that name, too
        if as_json:
            o.tell(o.one_object({"name": name, **config}))
            continue
        sizes = f"{config['words']:,} words, states of {config['state_size']}"
        scores = f"perplexity {config['perplexity']}, baseline {config['baseline']}"
        o.tell(f"{o.printable(name)}: {sizes}, {scores}{' (default)' if name == DEFAULT else ''}\n")


@o.from_settings()
def show(name: Name, as_json: o.JsonOption = False) -> None:
    """Show the sizes, the origin and the baseline of an encoder.

    The baseline is the similarity of unrelated words.
    """  # fmt: skip
    facts = _facts(open_encoder(name))
    o.tell(o.one_object(facts) if as_json else _shown(facts))


def _facts(encoder: Encoder) -> dict[str, Any]:
    facts: dict[str, Any] = {"name": encoder.name, "hash": encoder.hash, "baseline": encoder.baseline}
    return facts | encoder.config if isinstance(encoder, ContextEncoder) else facts


def _shown(facts: dict[str, Any]) -> str:
    return "".join([f"{o.printable(row)}\n" for row in _rows(facts)])


def _rows(facts: dict[str, Any], indent: str = "") -> Iterator[str]:
    for key, value in facts.items():
        if value in (None, ""):
            continue
        label = f"{indent}{key.replace('_', ' ')}"
        if isinstance(value, dict):
            yield label
            yield from _rows(value, indent + "  ")
        else:
            text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            text = f"{value:,}" if type(value) is int else text
            yield from textwrap.wrap(text, 80, initial_indent=f"{label:<24} ", subsequent_indent=" " * 25)


@o.from_settings()
def calibrate(
    name: Name,
    texts: Texts,
    *,
    use: Annotated[Use, typer.Option(help="Texts of data sets that are read.")] = "references",
    settings: TextSettings,
    vectors: VectorSettings,
    save: Annotated[bool, typer.Option("--save", help="Write the baseline into the encoder's folder.")] = False,
    as_json: o.JsonOption = False,
) -> None:
    """Measure the baseline of an encoder on your own text.

    The baseline is the similarity of unrelated words, which rescaled similarities count from.
    """  # fmt: skip
    encoder = open_encoder(name, vectors)
    sentences = unrelated_of(texts, use, settings)
    if isinstance(encoder, Choosy):
        encoder.check(sentences)
    try:
        baseline = measure_baseline(encoder, sentences)
    except SettingsError:
        raise SettingsError(f"{len(sentences)} sentences are not enough to measure {name}", "give more text") from None
    if save:
        if not isinstance(encoder, ContextEncoder) or name in BUILTIN:
            raise SettingsError(f"{name} is not a folder of your own", f"use --baseline {baseline} instead of --save")
        if not encoder.is_usual:
            problem = f"{name} keeps the baseline of its usual vectors only"
            raise SettingsError(problem, f"use --baseline {baseline} instead of --save")
        write_config(Path(name), read_config(Path(name)) | {"baseline": baseline})
    before = _before(encoder)
    facts = {"name": name, "baseline": baseline, "before": before, "sentences": len(sentences)}
    compared = "" if before is None else f"; {before:.4f} before"
    told = f"baseline {baseline:.4f} on {len(sentences):,} sentences of yours{compared}\n"
    told += f"kept in {o.printable(name)}\n" if save else f"use it with: --baseline {baseline:.4f}\n"
    o.tell(o.one_object(facts) if as_json else told)


def _before(encoder: Encoder) -> float | None:
    """The baseline without a person's own text; there is none if the package's sample text is in another language."""
    try:
        return encoder.baseline
    except SettingsError:
        return None


VERBS = {"train": train, "list": list_encoders, "show": show, "calibrate": calibrate}
HELP = "Train, list, show and calibrate encoders of words."
