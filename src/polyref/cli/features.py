"""`polyref features`: features of images, by any image model in the ONNX format."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Literal

import typer

from polyref.cli import options as o
from polyref.cli.progress import progress_bar
from polyref.features.extraction import FeatureReport, ImageSettings, extract_features
from polyref.features.images import find_images

_NAMED = 3


@o.from_settings()
def features(
    images: Annotated[list[str], typer.Argument(metavar="IMAGES...", help="Files of images, and folders of them.")],
    model: Annotated[str, typer.Option("--model", metavar="FILE", help="An image model in the ONNX format.")],
    output: Annotated[str, typer.Option("-o", "--output", metavar="FILE", help="Where to: an .npz.")],
    settings: ImageSettings,
    ids: Annotated[
        Literal["name", "number"],
        typer.Option("--ids", help="The file name without its suffix, or the last number in it, as COCO's ids."),
    ] = "name",
    as_json: o.JsonOption = False,
) -> None:
    """Run an image model over images, and write the features of each under its id.

    The file has "ids" and "feats", as captioners read it. An output that is a map is averaged over its places.
    Needs onnxruntime and Pillow: pip install "polyref[images]".
    """  # fmt: skip
    found = find_images(images, ids)
    with progress_bar(len(found), "reading", "images", rate_digits=1) as show:
        report = extract_features(found, model, output, settings, lambda done: show(done, done))
    _show(report, output, as_json)


def _show(report: FeatureReport, output: str, as_json: bool) -> None:
    if as_json:
        facts = {"images": report.images, "features": report.size, "skipped": report.skipped, "file": output}
        sys.stdout.write(json.dumps(facts, ensure_ascii=False) + "\n")
        return
    many = "1 image" if report.images == 1 else f"{report.images:,} images"
    sys.stdout.write(f"{report.size:,} features of {many} in {o.printable(output)}\n")
    if report.skipped:
        named = ", ".join(report.skipped[:_NAMED]) + (", ..." if len(report.skipped) > _NAMED else "")
        sys.stderr.write(f"polyref: {len(report.skipped):,} left out, which cannot be read: {o.printable(named)}\n")
