"""An image model in the ONNX format, run by onnxruntime.

In:   a file; images of one size.
Out:  what the model takes; a row of numbers for each image.
Not:  reading images (image_files.py), writing features (extraction.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from polyref.data.extras import load
from polyref.data.opening import is_folder
from polyref.errors import InputError, SettingsError
from polyref.features.image_files import Pixels

Layout = Literal["nchw", "nhwc"]
_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8}
_ONLY_FATAL = 4


@dataclass(frozen=True, slots=True)
class OnnxModel:
    """`height`, `width` and `batch` are None where the model takes any."""

    name: str
    session: Any
    input: str
    output: str
    dtype: Any
    layout: Layout
    channels: int
    height: int | None
    width: int | None
    batch: int | None

    @classmethod
    def open(cls, path: Path, output: str | None = None, layout: Layout | None = None) -> OnnxModel:
        """Open a model; where it has several outputs, one must be named."""
        session, name = _session(path), str(path)
        inputs = session.get_inputs()
        if len(inputs) != 1:
            listed = ", ".join(one.name for one in inputs)
            raise InputError(f"the model has {len(inputs)} inputs ({listed})", "give one that takes images", file=name)
        [image] = inputs
        if image.type not in _TYPES or len(image.shape) != 4:
            problem = f"the model takes {image.type} of {_shown(image.shape)}"
            raise InputError(problem, "give one that takes images: images x channels x height x width", file=name)
        layout = layout or _layout(image.shape, name)
        fixed = [size if isinstance(size, int) and size > 0 else None for size in image.shape]
        batch, channels, height, width = fixed if layout == "nchw" else (fixed[0], fixed[3], fixed[1], fixed[2])
        chosen = _output(session, output, name)
        return cls(name, session, image.name, chosen, _TYPES[image.type], layout, channels or 3, height, width, batch)

    @property
    def takes_bytes(self) -> bool:
        return bool(self.dtype == np.uint8)

    def run(self, pixels: Pixels) -> Pixels:
        """images x height x width x channels -> images x features; a map or a row of vectors is averaged over."""
        count = len(pixels)
        given = pixels if self.layout == "nhwc" else pixels.transpose(0, 3, 1, 2)
        with np.errstate(over="ignore"):  # what half precision does not hold shows in the features
            given = np.ascontiguousarray(given, self.dtype)
        if self.batch is not None and count < self.batch:  # the last images of all
            given = np.concatenate([given, np.zeros((self.batch - count, *given.shape[1:]), self.dtype)])
        try:
            [found] = self.session.run([self.output], {self.input: given})
        except Exception as error:  # the library has a class for each of its states
            problem = f"the model cannot be run ({_first_line(error)})"
            raise InputError(problem, "check --size and --layout", file=self.name) from None
        found = np.asarray(found)
        if found.ndim not in (2, 3, 4) or len(found) != len(given) or found.dtype.kind != "f" or not found.size:
            problem = f'the output "{self.output}" is {_shown(found.shape)} {found.dtype} for {len(given)} images'
            raise InputError(problem, "choose one with a row of numbers for each image", file=self.name)
        # A map has its channels where the images have them; a row of vectors has them last.
        places = {2: (), 3: (1,), 4: (2, 3) if self.layout == "nchw" else (1, 2)}[found.ndim]
        with np.errstate(over="ignore", invalid="ignore"):  # whoever writes them looks for what is no number
            averaged: Pixels = found.astype(np.float32).mean(places, dtype=np.float64) if places else found
            return averaged[:count].astype(np.float32)


def _session(path: Path) -> Any:
    runtime = load("onnxruntime", purpose="running an image model", extra="images")
    _check_file(path)
    runtime.set_default_logger_severity(_ONLY_FATAL)
    options = runtime.SessionOptions()
    options.log_severity_level = _ONLY_FATAL
    options.use_deterministic_compute = True
    try:
        return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library has a class for each of its states
        problem = f"is no model that onnxruntime can run ({_first_line(error)})"
        raise InputError(problem, "give a model in the ONNX format", file=str(path)) from None


def _check_file(path: Path) -> None:
    if is_folder(path, gone="there is no such file", cure="give a model in the ONNX format"):
        raise InputError("this is a folder", "name a file in it", file=str(path))


def _layout(shape: Sequence[Any], name: str) -> Layout:
    """Where the channels are: images have 1 or 3 of them."""
    if shape[1] in (1, 3):
        return "nchw"
    if shape[3] in (1, 3):
        return "nhwc"
    problem = f"the model takes {_shown(shape)}, which does not tell where the channels are"
    raise InputError(problem, "say --layout nchw or nhwc", file=name)


def _output(session: Any, wanted: str | None, name: str) -> str:
    outputs = [str(one.name) for one in session.get_outputs()]
    listed = ", ".join(outputs)
    if wanted is None:
        if len(outputs) > 1:
            raise SettingsError(f"{name} has {len(outputs)} outputs ({listed}); choose one with --output-name")
        return outputs[0]
    if wanted not in outputs:
        raise SettingsError(f'{name} has no output "{wanted}"; choose one of {listed}')
    return wanted


def _shown(shape: Sequence[Any]) -> str:
    return " x ".join("?" if size is None else str(size) for size in shape) or "one number"


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:200]
