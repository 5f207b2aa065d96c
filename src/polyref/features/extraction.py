"""Features of images, by any image model that was exported to ONNX.

In:   images; an ONNX model with one input, run by onnxruntime.
Out:  an npz file with `ids` and `feats`, as features.py reads it, written whole or not at all.
Not:  finding and reading images (images.py), what captioners do with features (model/captioner.py).

Rows wait in a temporary file, so that memory does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from polyref.data.opening import check_output_is_none_of, is_folder, open_output, open_spool
from polyref.errors import InputError, OutputError, SettingsError, load_extra
from polyref.features.features import form_of
from polyref.features.images import MODES, ImageReader, Pixels
from polyref.files import words_of
from polyref.settings import setting, settings

Layout = Literal["nchw", "nhwc"]
_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8}
_ONLY_FATAL = 4
_MOST = 1_000_000  # of a mean or a deviation, so that single precision cannot overflow
_ENLARGED = 256 / 224
_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, which most image models are trained on


def _size(default: int | None, help: str, **declared: Any) -> Any:
    return setting(default, help, at_least=1, at_most=10_000, **declared)


@settings(group="Images")
class ImageSettings:
    """How images become rows of features."""

    size: int | None = _size(None, "Side of what the model sees.", unset="its own")
    resize: int | None = _size(None, "Shorter side before it is cropped.", unset="8/7 of the size")
    fit: Literal["crop", "squash"] = setting("crop", "Crop out the middle, or squash the whole image.")
    mean: tuple[float, ...] | None = setting(
        None, "Subtracted after scaling to 0 to 1.", unset="ImageNet's", at_least=-_MOST, at_most=_MOST, metavar="M,M,M"
    )
    std: tuple[float, ...] | None = setting(
        None, "Divides what is left.", unset="ImageNet's", at_least=1 / _MOST, at_most=_MOST, metavar="S,S,S"
    )
    layout: Layout | None = setting(None, "Where the channels are.", unset="read from the model")
    output: str | None = setting(None, "Which of the model's outputs.", option="--output-name", metavar="NAME")
    batch: int = _size(16, "Images at once.")
    float32: bool = setting(False, "Write float32, not float16.")
    skip_broken: bool = setting(False, "Leave out images that cannot be read.")

    def check_together(self) -> None:
        if self.fit == "squash" and self.resize is not None:
            raise SettingsError("has no effect on squashed images", "leave it out", key="resize")


@dataclass(slots=True)
class FeatureReport:
    """What was written: the number of images and of features per image, and which files were left out."""

    images: int = 0
    size: int = 0
    skipped: list[str] = field(default_factory=list)


def extract_features(
    images: Mapping[str, Path],
    model: str | Path,
    output: str,
    settings: ImageSettings,
    on_progress: Callable[[int], None],
) -> FeatureReport:
    """Run a model over images, and write the features of each under its id; `on_progress` gets the number done."""
    if not output.endswith(".npz"):
        raise OutputError(f"{output}: features are written as npz; end the name in .npz")
    check_output_is_none_of(output, {"the model": model})
    for path in images.values():
        check_output_is_none_of(output, {"one of the images": path})
    network = OnnxModel(Path(model), settings.output, settings.layout)
    reader, batch = _reader(network, settings), network.batch or settings.batch
    report, everything, dtype = FeatureReport(), list(images), "<f4" if settings.float32 else "<f2"
    ids: list[str] = []
    with open_output(output) as stream, open_spool(output) as spool:
        for first in range(0, len(everything), batch):
            read: dict[str, Pixels] = {}
            for id in everything[first : first + batch]:
                try:
                    read[id] = reader.read(images[id])
                except InputError:
                    if not settings.skip_broken:
                        raise
                    report.skipped.append(str(images[id]))
            if read:
                rows = network.run(np.stack(list(read.values())))
                if rows.shape[1] != (report.size or rows.shape[1]):
                    problem = f"{rows.shape[1]} features, but {report.size} for the images before it"
                    raise InputError(problem, "choose another output of the model", file=str(images[next(iter(read))]))
                spool.write(_rounded(rows, [images[id] for id in read], dtype).tobytes())
                ids += read
                report.images, report.size = len(ids), rows.shape[1]
            on_progress(len(ids) + len(report.skipped))
        if not ids:
            raise InputError("cannot be read, and no other image can", "give others", file=report.skipped[0])
        spool.flush()
        # Not compressed, so that rows can be mapped; without a time in it.
        np.savez(stream, ids=np.array(ids), feats=np.memmap(spool, dtype, "r", shape=(len(ids), report.size)))
    return report


def _reader(network: OnnxModel, settings: ImageSettings) -> ImageReader:
    name, channels = network.name, network.channels
    height, width = network.height or settings.size, network.width or settings.size
    if height is None or width is None:
        raise SettingsError(f"{name} takes images of any size", "set size")
    if settings.size is not None and (height, width) != (settings.size, settings.size):
        problem = f"is {settings.size}, but {name} takes images of {height} x {width}"
        raise SettingsError(problem, "leave it out", key="size")
    if network.dtype == np.uint8 and (settings.mean is not None or settings.std is not None):
        raise SettingsError(f"{name} takes bytes and normalises them itself", "leave mean and std out")
    if settings.resize is not None and settings.resize < min(height, width):
        problem = f"is {settings.resize}, but the model takes {min(height, width)}"
        raise SettingsError(problem, "give that or more", key="resize")
    if channels not in MODES:
        raise SettingsError(f"the model takes images of {channels} channels; give one that takes 1 or 3")
    mean, std = (_MEAN, _STD) if channels == 3 else ((0.0,), (1.0,))
    return ImageReader(
        height,
        width,
        channels,
        enlarged=settings.resize / min(height, width) if settings.resize else _ENLARGED,
        squash=settings.fit == "squash",
        as_bytes=network.dtype == np.uint8,
        mean=_each("mean", mean if settings.mean is None else settings.mean, channels),
        std=_each("std", std if settings.std is None else settings.std, channels),
    )


def _each(name: str, values: Sequence[float], channels: int) -> tuple[float, ...]:
    """A number for each channel; one number is for all of them."""
    if len(values) not in (1, channels):
        problem = f"has {len(values)} numbers, but images have {channels} channels"
        raise SettingsError(problem, f"give one or {channels}", key=name)
    return tuple(values) * (channels // len(values))


def _rounded(rows: Pixels, paths: Sequence[Path], dtype: str) -> Pixels:
    """The rows as they are written. What features.py would refuse later is refused here, by the name of its file."""
    with np.errstate(over="ignore"):
        rounded = rows.astype(dtype)
    for problem, cure, found in (
        ("the model gives features that are not numbers (NaN or infinite)", "use another model", rows),
        ("features too large for float16", "set float32", rounded),
    ):
        wrong = np.flatnonzero(~np.isfinite(found).all(1))
        if len(wrong):
            raise InputError(problem, cure, file=str(paths[int(wrong[0])]))
    return rounded


class OnnxModel:
    """An image model. `height`, `width` and `batch` are None where it takes any."""

    def __init__(self, path: Path, output: str | None, layout: Layout | None):
        self.session, self.name = _session(path), str(path)
        inputs = self.session.get_inputs()
        if len(inputs) != 1 or inputs[0].type not in _TYPES or len(inputs[0].shape) != 4:
            takes = " and ".join(f"{one.type} of {form_of(one.shape)}" for one in inputs)
            cure = "give one that takes images: images x channels x height x width"
            raise InputError(f"the model takes {takes}", cure, file=self.name)
        [image] = inputs
        # Images have 1 or 3 channels.
        layout = layout or ("nchw" if image.shape[1] in (1, 3) else "nhwc" if image.shape[3] in (1, 3) else None)
        if layout is None:
            problem = f"the model takes {form_of(image.shape)}, which does not tell where the channels are"
            raise InputError(problem, "set layout to nchw or nhwc", file=self.name)
        outputs = [str(one.name) for one in self.session.get_outputs()]
        if output is None and len(outputs) > 1:
            many = f"{len(outputs)} outputs ({', '.join(outputs)})"
            raise SettingsError(f"{self.name} has {many}", "set ImageSettings.output to one of them")
        if output is not None and output not in outputs:
            raise SettingsError(f'{self.name} has no output "{output}"; choose one of {", ".join(outputs)}')
        self.input, self.output, self.dtype, self.layout = image.name, output or outputs[0], _TYPES[image.type], layout
        fixed = [size if isinstance(size, int) and size > 0 else None for size in image.shape]
        self.batch, *rest = fixed
        channels, self.height, self.width = rest if layout == "nchw" else (rest[2], rest[0], rest[1])
        self.channels = channels or 3

    def run(self, pixels: Pixels) -> npt.NDArray[np.float32]:
        """images x height x width x channels -> images x features; a map or a row of vectors is averaged over."""
        count = len(pixels)
        given = pixels if self.layout == "nhwc" else pixels.transpose(0, 3, 1, 2)
        with np.errstate(over="ignore"):  # what half precision does not hold shows in the features
            given = np.ascontiguousarray(given, self.dtype)
        if self.batch is not None and count < self.batch:  # fewer than the model takes at once
            given = np.concatenate([given, np.zeros((self.batch - count, *given.shape[1:]), self.dtype)])
        try:
            [found] = self.session.run([self.output], {self.input: given})
        except Exception as error:  # the library has a class for each of its states
            problem = f"the model cannot be run ({words_of(error)[:200]})"
            raise InputError(problem, "check size and layout", file=self.name) from None
        found = np.asarray(found)
        if found.ndim not in (2, 3, 4) or len(found) != len(given) or found.dtype.kind != "f" or not found.size:
            problem = f'the output "{self.output}" is {form_of(found.shape)} {found.dtype} for {len(given)} images'
            raise InputError(problem, "choose one with a row of numbers for each image", file=self.name)
        # A map has its channels where the images have them; a row of vectors has them last.
        places = {2: (), 3: (1,), 4: (2, 3) if self.layout == "nchw" else (1, 2)}[found.ndim]
        with np.errstate(over="ignore", invalid="ignore"):  # whoever writes them looks for what is not a number
            averaged = found.astype(np.float32).mean(places, dtype=np.float64) if places else found
            return np.asarray(averaged[:count], np.float32)


def _session(path: Path) -> Any:
    runtime = load_extra("onnxruntime", purpose="running an image model", extra="images")
    cure = "give a model in the ONNX format"
    if is_folder(path, gone="there is no such file", cure=cure):
        raise InputError("this is a folder", "name a file in it", file=str(path))
    runtime.set_default_logger_severity(_ONLY_FATAL)
    options = runtime.SessionOptions()
    options.log_severity_level = _ONLY_FATAL
    options.use_deterministic_compute = True
    try:
        return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library has a class for each of its states
        raise InputError(f"onnxruntime cannot run it ({words_of(error)[:200]})", cure, file=str(path)) from None
