"""`polyref features`: features of images, by any image model in the ONNX format."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from polyref.cli import options as o
from polyref.cli.progress import progress_bar
from polyref.errors import SettingsError

if TYPE_CHECKING:
    from polyref.features.extraction import FeatureReport

_NAMED = 3


def features(
    images: Annotated[list[str], typer.Argument(metavar="IMAGES...", help="Files of images, and folders of them.")],
    model: Annotated[str, typer.Option("--model", metavar="FILE", help="An image model in the ONNX format.")],
    output: Annotated[str, typer.Option("-o", "--output", metavar="FILE", help="Where to: an .npz.")],
    output_name: Annotated[
        str | None, typer.Option("--output-name", metavar="NAME", help="Which of the model's outputs.")
    ] = None,
    size: Annotated[
        int | None, typer.Option("--size", metavar="N", help="The side of what the model sees.  [default: its own]")
    ] = None,
    resize: Annotated[
        int | None,
        typer.Option("--resize", metavar="N", help="The shorter side before cropping.  [default: 8/7 of the size]"),
    ] = None,
    fit: Annotated[
        Literal["crop", "squash"], typer.Option("--fit", help="Crop out the middle, or squash the whole image.")
    ] = "crop",
    mean: Annotated[
        str | None,
        typer.Option("--mean", metavar="M,M,M", help="Taken off, after scaling to 0 to 1.  [default: ImageNet's]"),
    ] = None,
    std: Annotated[
        str | None, typer.Option("--std", metavar="S,S,S", help="What is left is divided by it.  [default: ImageNet's]")
    ] = None,
    layout: Annotated[
        Literal["nchw", "nhwc"] | None,
        typer.Option("--layout", help="Where the channels are.  [default: told by the model]"),
    ] = None,
    ids: Annotated[
        Literal["name", "number"],
        typer.Option("--ids", help="The file name without its suffix, or the last number in it, as COCO's ids."),
    ] = "name",
    batch: Annotated[int, typer.Option("--batch", metavar="N", help="Images at once.")] = 16,
    float32: Annotated[bool, typer.Option("--float32", help="Write float32, not float16.")] = False,
    skip_broken: Annotated[bool, typer.Option("--skip-broken", help="Leave out images that cannot be read.")] = False,
    as_json: o.JsonOption = False,
) -> None:
    """Run an image model over images, and write the features of each under its id.

    The file has "ids" and "feats", as captioners read it. An output that is a map is averaged over its places.
    Needs onnxruntime and Pillow: pip install "polyref[images]".
    """  # fmt: skip
    from polyref.features.extraction import ImageSettings, extract_features
    from polyref.features.images import find_images

    settings = ImageSettings(
        size=size,
        resize=resize,
        fit=fit,
        mean=_numbers("mean", mean),
        std=_numbers("std", std),
        layout=layout,
        output=output_name,
        batch=batch,
        precision="float32" if float32 else "float16",
        skip_broken=skip_broken,
    )
    found = find_images(images, ids)
    with progress_bar(len(found), "reading", "images", rate_digits=1) as show:
        report = extract_features(found, model, output, settings, lambda done: show(done, done))
    _show(report, output, as_json)


def _numbers(name: str, listed: str | None) -> tuple[float, ...] | None:
    if listed is None:
        return None
    try:
        return tuple([float(number) for number in listed.replace(",", " ").split()])
    except ValueError:
        raise SettingsError(f'--{name} is "{listed}"; give numbers with commas between them') from None


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
