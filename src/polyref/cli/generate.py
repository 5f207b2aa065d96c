"""`polyref generate`: hypotheses of a trained model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, TextIO

import typer

from polyref.cli import options as o
from polyref.data import Input, Losses, ReadSettings, open_output
from polyref.data.formats import format_of_name
from polyref.data.opening import check_output_is_none_of, without_compression
from polyref.data.reading import Source, read_sources
from polyref.data.writing import check_not_input
from polyref.errors import SettingsError
from polyref.features.features import Features
from polyref.fit import Device
from polyref.model import load_model
from polyref.model.settings import BeamSettings, check_size
from polyref.settings import build, keys

if TYPE_CHECKING:
    from polyref.model.folder import Generated, TrainedModel

    Generation = Callable[[list[str]], list[list[Generated]]]

_BATCHES_AT_ONCE = 8
_DIGITS = 4
# What a run keeps in its folder; hypotheses that were written there may be written again.
_KEPT = ("*.safetensors", "*.json", "*.toml", "*.log", "log.jsonl", "expanded-*.jsonl", "checkpoints/*/*")


@o.from_settings(beam=("stop_early",), reading=("format",))
def generate(
    model: Annotated[str, o.argument("MODEL", "Folder that polyref train has made.")],
    input: Annotated[str, o.argument("INPUT", "Sources in any format, or one per line (.txt); - is standard input.")],
    *,
    output: Annotated[str, o.output("Records, or lines if it ends in .txt.", "OUT")] = "-",
    features: Annotated[str | None, o.option("FILE", "Captioners: features of the images.")] = None,
    feature_ids: Annotated[str | None, o.option("FILE", "Ids of these features, if the file has none.")] = None,
    beam: Annotated[dict[str, Any], o.Given(BeamSettings, "the recipe's")],
    batch: Annotated[int, o.option("N", "Sources at once; the result stays the same.")] = 32,
    device: Annotated[Device, typer.Option(help="auto: a GPU if there is one.")] = "auto",
    format: o.SourcesFromOption = None,
    reading: ReadSettings,
    as_json: o.JsonOption = False,
) -> None:
    """Write hypotheses of a trained model for each source.

    The records have "id" and "hypothesis", as polyref score reads them; with --best also "hypotheses", each with its
    text, score and log-probability. References are not needed. Needs torch: pip install "polyref[torch]".
    """  # fmt: skip
    _check_output(output, input, model, features, feature_ids)
    beside = o.beside(output)
    as_text = _is_text(output, beam.get("best"))
    check_size("batch", batch)
    trained = load_model(model, device)
    settings = _beam(trained.beam, {"best": 1, **beam} if as_text else beam)  # a line holds one text
    images = _features(trained, features, feature_ids)
    losses = Losses()

    sources = partial(read_sources, input, reading, format=format)
    if images is not None and Input.of(input).can_be_read_again:
        # Ids without features are refused before hours of search go into the others.
        images.check([source.text for source in sources() if source.text not in images])
    with o.progress_bar(input, "generating", "hypotheses", rate_digits=1) as show, open_output(output) as stream:
        generation = partial(trained.generate, features=images, beam=settings, batch=batch)
        best = None if as_text else settings.best
        written = _write(sources(losses=losses), generation, batch, best, stream, show)
    _show(*written, output, as_json, beside)
    if not as_json:
        o.say_losses(input, "not read", losses)


def _check_output(output: str, input: str, model: str, features: str | None, feature_ids: str | None) -> None:
    """Refuse to write over what is read, and over what else a run keeps in its folder."""
    check_not_input(output, Input.of(input))
    kept = [path for pattern in _KEPT for path in Path(model).glob(pattern)]
    read = {f"{path.name} of the model": path for path in kept}
    check_output_is_none_of(output, {**read, "the file of features": features, "the file of ids": feature_ids})


def _is_text(output: str, best: int | None) -> bool:
    """Whether lines are written rather than records."""
    if without_compression(output).endswith(".txt"):
        if best is not None and best > 1:
            problem = f"is {best}, but a line holds one text"
            raise SettingsError(problem, "leave it out, or end the output's name in .jsonl", key="best")
        return True
    if format_of_name(output) not in (None, "jsonl"):
        raise SettingsError(f"{output}: hypotheses are records or lines", "end the name in .jsonl or .txt")
    o.say_usual_format(output, "JSON Lines")
    return False


def _beam(usual: BeamSettings, given: dict[str, Any]) -> BeamSettings:
    """The model's own settings with those given; more texts than the beam is wide widen it, unless it is given."""
    settings = build(BeamSettings, {"beam": max(usual.beam, given.get("best", 1)), **given}, usual)
    for key in keys(BeamSettings):
        if key.name in given and key.declared.needs not in (None, ("scoring", settings.scoring)):
            assert key.declared.needs is not None
            problem = f"has no effect on {settings.scoring} scores"
            raise SettingsError(problem, f"set scoring to {key.declared.needs[1]}, or leave it out", key=key.name)
    return settings


def _features(trained: TrainedModel, features: str | None, ids: str | None) -> Features | None:
    if features is None:
        if trained.source is None:
            raise SettingsError(f"a {trained.kind} reads features of images", "give --features FILE")
        if ids is not None:
            raise SettingsError("has no effect without --features", "add that, or leave it out", key="feature_ids")
        return None
    if trained.source is not None:
        raise SettingsError(f"has no effect on a {trained.kind}, which reads texts", "leave it out", key="features")
    images = Features.open(features, ids)
    images.check([], size=trained.model.settings.feature_size)
    return images


def _write(
    sources: Iterator[Source], generation: Generation, batch: int, best: int | None, stream: BinaryIO, show: o.Show
) -> tuple[int, int]:
    """Counts hypotheses and empty ones. Takes some sources at a time: memory does not grow with their number."""
    hypotheses = empty = 0
    while some := list(islice(sources, batch * _BATCHES_AT_ONCE)):
        for source, found in zip(some, generation([source.text for source in some]), strict=True):
            text = found[0].text if found else ""
            empty += not text or text.isspace()
            stream.write(_rendered(source, text, found, best).encode())
        hypotheses += len(some)
        show(some[-1].position, hypotheses)
    return hypotheses, empty


def _rendered(source: Source, text: str, found: Sequence[Generated], best: int | None) -> str:
    """A record, or a line of text where `best` is None."""
    if best is None:
        return text.replace("\r", " ").replace("\n", " ") + "\n"
    record: dict[str, Any] = {"id": source.id, "hypothesis": text}
    if best > 1:
        # Rounded to less than double precision holds: the same digits whatever the batch.
        record["hypotheses"] = [
            {"text": one.text, "score": round(one.score, _DIGITS), "log_prob": round(one.log_prob, _DIGITS)}
            for one in found
        ]
    return o.one_object(record)


def _show(hypotheses: int, empty: int, output: str, as_json: bool, beside: TextIO) -> None:
    if as_json or beside is sys.stdout:
        told = f"{o.counted(hypotheses, 'hypothesis', 'hypotheses')} in {o.printable(output)}\n"
        o.summarise({"hypotheses": hypotheses, "empty": empty}, told, as_json=as_json, stream=beside)
    if empty and not as_json:
        o.say(f"{empty:,} of them empty; polyref score takes them with --allow-empty")
