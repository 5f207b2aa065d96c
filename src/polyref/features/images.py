"""Find images, and read them as image models expect.

In:   paths of images and of folders.
Out:  the paths by their ids; pixels: upright, resized, cropped to the middle, normalised.
Not:  the model (extraction.py).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from polyref.data.opening import is_folder
from polyref.errors import InputError, load_extra

Ids = Literal["name", "number"]
Pixels = npt.NDArray[Any]
MODES = {1: "L", 3: "RGB"}  # Pillow's, by the number of channels
_SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")
_MOST_PIXELS = 1 << 24  # of an image before it is cropped


def find_images(paths: Sequence[str | Path], ids: Ids = "name") -> dict[str, Path]:
    """The images of some files and folders by their ids, in order; those of a folder, and of the folders in it, sorted.

    The id is the name without its suffix, or the last number in it without leading zeros, as COCO names its images. Two
    images with one id are an error.
    """
    found: dict[str, Path] = {}
    for given in paths:
        for path in _images_of(Path(given)):
            id = _id(path, ids)
            if id in found:
                raise _same_id(id, found[id], path)
            found[id] = path
    return found


def _same_id(id: str, first: Path, second: Path) -> InputError:
    if first == second:
        return InputError("this image is given twice", "give it once", file=str(second))
    if first.resolve() == second.resolve():
        return InputError(f"this is {first}, which is given already", "give it once", file=str(second))
    return InputError(f'{first} has the same id, "{id}"', "rename one of them, or leave it out", file=str(second))


def _images_of(path: Path) -> list[Path]:
    if not is_folder(path, gone="there is no such file or folder"):
        return [path]
    found = sorted(inside for inside in path.rglob("*") if inside.suffix.lower() in _SUFFIXES and inside.is_file())
    if not found:
        raise InputError("there are no images in it", f"give files that end in {', '.join(_SUFFIXES)}", file=str(path))
    return found


def _id(path: Path, ids: Ids) -> str:
    if ids == "name":
        return path.stem
    numbers = re.findall("[0-9]+", path.stem)
    if not numbers:
        raise InputError("there is no number in the name", "use the names as ids", file=str(path))
    return str(int(numbers[-1]))


@dataclass(frozen=True, slots=True)
class ImageReader:
    """Gives images of one size: squashed; or `enlarged` times as large at first, and then their middle."""

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
        pixels = np.asarray(self._resized(_opened(path, MODES[self.channels])))
        pixels = pixels.reshape(self.height, self.width, self.channels)
        if self.as_bytes:
            return pixels
        scaled = pixels.astype(np.float32) / np.float32(255)
        normalised: Pixels = (scaled - np.array(self.mean, np.float32)) / np.array(self.std, np.float32)
        return normalised

    def _resized(self, image: Any) -> Any:
        bilinear = load_extra("PIL.Image", purpose="reading images", extra="images").Resampling.BILINEAR
        if self.squash:
            return image.resize((self.width, self.height), bilinear)
        scale = self.enlarged * max(self.width / image.width, self.height / image.height)
        wide, high = max(self.width, round(image.width * scale)), max(self.height, round(image.height * scale))
        left, top = (wide - self.width) // 2, (high - self.height) // 2
        if wide * high <= _MOST_PIXELS:
            # As others do it, to the last pixel.
            return image.resize((wide, high), bilinear).crop((left, top, left + self.width, top + self.height))
        # Of a narrow image, the whole would take memory without end: only the middle is computed.
        across, down = image.width / wide, image.height / high
        right, bottom = min(image.width, (left + self.width) * across), min(image.height, (top + self.height) * down)
        return image.resize((self.width, self.height), bilinear, box=(left * across, top * down, right, bottom))


def _opened(path: Path, mode: str) -> Any:
    """An image, upright, in 8 bits per channel. Transparency is dropped."""
    pillow = load_extra("PIL.Image", purpose="reading images", extra="images")
    upright = load_extra("PIL.ImageOps", purpose="reading images", extra="images").exif_transpose
    try:
        # Pillow warns of large images and of odd data beside the pixels.
        with warnings.catch_warnings(action="ignore"), pillow.open(path) as opened:
            return _in_8_bits(upright(opened), opened.format, pillow).convert(mode)
    except MemoryError:
        raise
    except Exception as error:  # each format raises what it likes
        known = not isinstance(error, pillow.UnidentifiedImageError)
        reason = getattr(error, "strerror", None) or " ".join(str(error).split()) if known else "unknown format"
        cure = "repair it, or set skip_broken to leave it out"
        raise InputError(f"this image cannot be read ({reason})", cure, file=str(path)) from None


def _in_8_bits(image: Any, format: str | None, pillow: Any) -> Any:
    """Pillow would clip what is larger than a byte: an image of 16 bits would be white."""
    if image.mode.startswith("I;16") or (image.mode == "I" and format in ("PNG", "PPM")):
        return pillow.fromarray(np.round(np.asarray(image) / 257).astype(np.uint8))
    if image.mode in ("I", "F"):
        raise ValueError("pixels of 32 bits, whose range nothing tells; save it with 8 or 16")
    return image
