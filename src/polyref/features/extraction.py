"""Features of images, by any image model that was exported to ONNX.

In:   images; an ONNX model with one input.
Out:  an npz file with `ids` and `feats`, as features.py reads it, written whole or not at all.
Not:  finding and reading images (image_files.py), the model (onnx_model.py), what captioners do with features
      (captioner.py).

Rows wait in a temporary file, so that memory does not grow with their number.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal, get_args

import numpy as np
import numpy.typing as npt

from polyref.data.output import check_output_is_none_of, open_output, open_spool
from polyref.errors import InputError, OutputError, SettingsError
from polyref.features.image_files import ImageFile, ImageReader, Pixels
from polyref.features.onnx_model import Layout, OnnxModel

Precision = Literal["float16", "float32"]
Fit = Literal["crop", "squash"]
_STORED = {"float16": "<f2", "float32": "<f4"}
_LARGEST = 10_000
_MOST = 1_000_000  # of a mean or a deviation, so that what single precision holds cannot run over
_ENLARGED = 256 / 224
_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, which most image models are trained on


@dataclass(frozen=True, slots=True)
class ImageSettings:
    """How images become rows. None: as the model says, or as is usual (256 / 224 of the size for `resize`; the mean and
    the deviation of ImageNet for three channels, none for one).

    `size` is the side of what the model sees; `resize` that of the shorter side before the middle is cropped out of it.
    `fit` squash: the whole image, whatever its form. `output` names one of the model's outputs.
    """

    size: int | None = None
    resize: int | None = None
    fit: Fit = "crop"
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    layout: Layout | None = None
    output: str | None = None
    batch: int = 16
    precision: Precision = "float16"
    skip_broken: bool = False

    def __post_init__(self) -> None:
        for name in ("size", "resize", "batch"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= _LARGEST:
                raise SettingsError(f"{name} is {value}; give a number from 1 to {_LARGEST:,}")
        choices = {"fit": Fit, "layout": Layout, "precision": Precision}
        for name, allowed in choices.items():
            value = getattr(self, name)
            if value not in (None, *get_args(allowed)):
                raise SettingsError(f'unknown {name} "{value}"; choose one of {", ".join(get_args(allowed))}')
        if self.fit == "squash" and self.resize is not None:
            raise SettingsError("a squashed image is not cropped; leave resize out")
        for name, least in (("mean", -_MOST), ("std", 1 / _MOST)):
            values = getattr(self, name)
            if values == ():
                raise SettingsError(f"--{name} has no numbers; give one, or one for each channel")
            for value in values or ():
                if not least <= value <= _MOST:  # nor is NaN
                    shown = f"{least:,.0f}" if least < 0 else f"{least:f}"
                    raise SettingsError(f"--{name} is {value}; give numbers from {shown} to {_MOST:,}")


@dataclass(slots=True)
class FeatureReport:
    """What was written: how many images, of how many numbers each, and which files were left out."""

    images: int = 0
    size: int = 0
    skipped: list[str] = field(default_factory=list)


def extract_features(
    images: Sequence[ImageFile],
    model: str | Path,
    output: str | Path,
    settings: ImageSettings | None = None,
    *,
    on_progress: Callable[[int], None] = lambda done: None,
) -> FeatureReport:
    """Run a model over images, and write the features of each under its id; `on_progress` is told how many are done."""
    settings = settings or ImageSettings()
    if not str(output).endswith(".npz"):
        raise OutputError(f"{output}: features are written as npz; end the name in .npz")
    if not images:
        raise SettingsError("there are no images; give at least one")
    check_output_is_none_of(str(output), {"the model": model})
    for image in images:
        check_output_is_none_of(str(output), {"one of the images": image.path})
    network = OnnxModel.open(Path(model), settings.output, settings.layout)
    reader = _reader(network, settings)
    report = FeatureReport()
    ids: list[str] = []
    with open_output(str(output)) as stream, open_spool(str(output)) as spool:
        for chosen, pixels in _batches(images, reader, network.batch or settings.batch, settings.skip_broken, report):
            rows = _rounded(network.run(pixels), chosen, settings.precision)
            if ids and rows.shape[1] != report.size:
                problem = f"{rows.shape[1]} features, but {report.size} for the images before it"
                raise InputError(problem, "choose another output of the model", file=str(chosen[0].path))
            spool.write(rows.tobytes())
            ids += [image.id for image in chosen]
            report.images, report.size = len(ids), rows.shape[1]
            on_progress(len(ids) + len(report.skipped))
        if not ids:
            raise InputError("cannot be read, and no other image can", "give others", file=report.skipped[0])
        _write(stream, ids, spool, report.size, settings.precision)
    return report


def _reader(network: OnnxModel, settings: ImageSettings) -> ImageReader:
    height, width = network.height or settings.size, network.width or settings.size
    if height is None or width is None:
        raise SettingsError(f"{network.name} takes images of any size; give --size")
    if settings.size is not None and (height, width) != (settings.size, settings.size):
        raise SettingsError(
            f"{network.name} takes images of {height} x {width}, and the size is {settings.size}; leave it out"
        )
    if network.takes_bytes and (settings.mean is not None or settings.std is not None):
        raise SettingsError(f"{network.name} takes bytes and normalises them itself; leave --mean and --std out")
    if settings.resize is not None and settings.resize < min(height, width):
        raise SettingsError(f"resize is {settings.resize}, and the model takes {min(height, width)}; give that or more")
    mean, std = (_MEAN, _STD) if network.channels == 3 else ((0.0,), (1.0,))
    return ImageReader(
        height,
        width,
        network.channels,
        enlarged=1.0 if settings.fit == "squash" else (settings.resize or 0) / min(height, width) or _ENLARGED,
        squash=settings.fit == "squash",
        as_bytes=network.takes_bytes,
        mean=_each("mean", settings.mean or mean, network.channels),
        std=_each("std", settings.std or std, network.channels),
    )


def _each(name: str, values: Sequence[float], channels: int) -> tuple[float, ...]:
    """A number for each channel; one number is for all of them."""
    if len(values) not in (1, channels):
        raise SettingsError(
            f"--{name} has {len(values)} numbers, and images have {channels} channels; give one or {channels}"
        )
    return tuple(values) * (channels // len(values))


def _batches(
    images: Sequence[ImageFile], reader: ImageReader, size: int, skip_broken: bool, report: FeatureReport
) -> Iterator[tuple[list[ImageFile], Pixels]]:
    """Images with their pixels, so many at a time; those that cannot be read go into the report, or are an error."""
    chosen: list[ImageFile] = []
    pixels: list[Pixels] = []
    for image in images:
        try:
            found = reader.read(image.path)
        except InputError:
            if not skip_broken:
                raise
            report.skipped.append(str(image.path))
            continue
        chosen.append(image)
        pixels.append(found)
        if len(chosen) == size:
            yield chosen, np.stack(pixels)
            chosen, pixels = [], []
    if chosen:
        yield chosen, np.stack(pixels)


def _rounded(rows: npt.NDArray[Any], images: Sequence[ImageFile], precision: Precision) -> npt.NDArray[Any]:
    """The rows as they are written. What features.py would refuse later is refused here, by the name of its file."""
    with np.errstate(over="ignore"):
        rounded = rows.astype(_STORED[precision])
    for problem, cure, found in (
        ("the model gives features that are no numbers (NaN or infinite)", "use another model", rows),
        ("features too large for float16", "add --float32", rounded),
    ):
        wrong = np.flatnonzero(~np.isfinite(found).all(1))
        if len(wrong):
            raise InputError(problem, cure, file=str(images[int(wrong[0])].path))
    return rounded


def _write(stream: BinaryIO, ids: list[str], spool: BinaryIO, size: int, precision: Precision) -> None:
    """An npz of which nothing tells when it was made. Features are not compressed, so that they can be mapped."""
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        with archive.open(_member("ids"), "w") as file:
            np.lib.format.write_array(file, np.array(ids), allow_pickle=False)
        with archive.open(_member("feats"), "w", force_zip64=True) as file:
            header = {"descr": _STORED[precision], "fortran_order": False}
            np.lib.format.write_array_header_1_0(file, {**header, "shape": (len(ids), size)})
            spool.seek(0)
            shutil.copyfileobj(spool, file)


def _member(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
