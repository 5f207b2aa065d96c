"""Find images, and read them as image models expect.

In:   paths of images and of folders.
Out:  images with their ids; their pixels: upright, resized, cropped to the middle, normalised.
Not:  the model (onnx_model.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from polyref.data.extras import load
from polyref.errors import InputError, SettingsError

Ids = Literal["name", "number"]
Pixels = npt.NDArray[Any]
SUFFIXES = frozenset([".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"])


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image, and the id that its features are kept under."""

    id: str
    path: Path


def find_images(paths: Sequence[str | Path], ids: Ids = "name") -> list[ImageFile]:
    """The images of some files and folders, in order; those of a folder, and of the folders in it, sorted by name.

    The id is the name without its suffix, or the last number in it without the zeros before it, as COCO names its
    images. Two images with one id are an error.
    """
    found: dict[str, ImageFile] = {}
    for given in paths:
        for path in _images_of(Path(given)):
            image = ImageFile(_id(path, ids), path)
            if image.id in found:
                problem = f'{found[image.id].path} has the same id, "{image.id}"'
                raise InputError(problem, "rename one of them, or leave it out", file=str(path))
            found[image.id] = image
    return list(found.values())


def _images_of(path: Path) -> list[Path]:
    if not path.is_dir():
        if not path.exists():
            raise InputError("there is no such file or folder", "check the path", file=str(path))
        return [path]
    found = sorted(inside for inside in path.rglob("*") if inside.suffix.lower() in SUFFIXES and inside.is_file())
    if not found:
        raise InputError("there are no images in it", f"give files that end in {_some()}", file=str(path))
    return found


def _some() -> str:
    return ", ".join(sorted(SUFFIXES))


def _id(path: Path, ids: Ids) -> str:
    if ids == "name":
        return path.stem
    numbers = re.findall("[0-9]+", path.stem)
    if not numbers:
        raise InputError("there is no number in the name", "use the names as ids", file=str(path))
    return str(int(numbers[-1]))


@dataclass(frozen=True, slots=True)
class ImageReader:
    """Gives images of one size: squashed, or so much larger at first, and then their middle."""

    height: int
    width: int
    channels: int
    enlarged: float = 1.0
    squash: bool = False
    as_bytes: bool = False
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)

    def read(self, path: Path) -> Pixels:
        """height x width x channels: bytes, or numbers from 0 to 1 less the mean, in units of the deviation."""
        pixels = np.asarray(self._resized(path)).reshape(self.height, self.width, self.channels)
        if self.as_bytes:
            return pixels
        scaled = pixels.astype(np.float32) / np.float32(255)
        normalised: Pixels = (scaled - np.array(self.mean, np.float32)) / np.array(self.std, np.float32)
        return normalised

    def _resized(self, path: Path) -> Any:
        pillow = load("PIL.Image", purpose="reading images", extra="images")
        upright = load("PIL.ImageOps", purpose="reading images", extra="images").exif_transpose
        kind = {1: "L", 3: "RGB"}.get(self.channels)
        if kind is None:
            raise SettingsError(f"the model takes images of {self.channels} channels; give one that takes 1 or 3")
        try:
            with pillow.open(path) as opened:
                image = upright(opened).convert(kind)
        except MemoryError:
            raise
        except Exception as error:  # each format raises what it likes
            reason = str(error).replace(str(path), "the file").replace(repr(str(path)), "it")
            raise InputError(
                f"this image cannot be read ({reason})", "repair it, or leave it out with --skip-broken", file=str(path)
            ) from None
        if self.squash:
            return image.resize((self.width, self.height), pillow.Resampling.BILINEAR)
        scale = self.enlarged * max(self.width / image.width, self.height / image.height)
        wide, high = max(self.width, round(image.width * scale)), max(self.height, round(image.height * scale))
        left, top = (wide - self.width) // 2, (high - self.height) // 2
        resized = image.resize((wide, high), pillow.Resampling.BILINEAR)
        return resized.crop((left, top, left + self.width, top + self.height))
