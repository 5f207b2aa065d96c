"""`polyref features`: features of images, by any image model in the ONNX format."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from polyref.cli import options as o
from polyref.features.extraction import ImageSettings, extract_features
from polyref.features.images import find_images

_NAMED = 3


@o.from_settings()
def features(
    images: Annotated[list[str], o.argument("IMAGE", "Image files, and folders of them.")],
    *,
    model: Annotated[str, o.option("FILE", "Image model in the ONNX format.")],
    output: Annotated[str, o.output("Output, an .npz file.")],
    settings: ImageSettings,
    ids: Annotated[
        Literal["name", "number"],
        typer.Option(help="Ids: the file name, or the last number in it."),
    ] = "name",
    as_json: o.JsonOption = False,
) -> None:
    """Write features of images, computed by an image model.

    The file has "ids" and "feats", as captioners read it. A model's output that is a map is averaged over its places.
    Needs onnxruntime and Pillow: pip install "polyref[images]".
    """  # fmt: skip
    found = find_images(images, ids)
    with o.progress_bar(len(found), "reading", "images", rate_digits=1) as show:
        report = extract_features(found, model, output, settings, lambda done: show(done, done))
    facts = {"images": report.images, "features": report.size, "skipped": report.skipped, "file": output}
    told = f"{report.size:,} features of {o.counted(report.images, 'image')} in {o.printable(output)}\n"
    o.summarise(facts, told, as_json=as_json)
    if report.skipped and not as_json:
        named = ", ".join(report.skipped[:_NAMED]) + (", ..." if len(report.skipped) > _NAMED else "")
        o.say(f"{o.counted(len(report.skipped), 'image')} left out, which cannot be read: {named}")
