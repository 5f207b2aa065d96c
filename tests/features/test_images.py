"""Images are read as image models expect, whatever they were saved as."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from polyref.errors import InputError
from polyref.features import images
from polyref.features.images import ImageReader, find_images

BYTES = ImageReader(4, 4, 3, as_bytes=True)


def saved(path: Path, image: Image.Image) -> Path:
    image.save(path)
    return path


def grey_in_16_bits(value: int) -> Image.Image:
    return Image.fromarray(np.full((4, 4), value, np.uint16))


@pytest.mark.parametrize("name", ["a.png", "a.tif", "a.pgm"])
@pytest.mark.parametrize(("value", "byte"), [(0, 0), (257, 1), (32896, 128), (65535, 255)])
def test_grey_of_16_bits_keeps_its_shades(name, value, byte, tmp_path: Path):
    path = saved(tmp_path / name, grey_in_16_bits(value))
    assert np.unique(BYTES.read(path)).tolist() == [byte]
    one_channel = ImageReader(4, 4, 1, as_bytes=True)
    assert np.unique(one_channel.read(path)).tolist() == [byte]


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_pixels_whose_range_nothing_tells_are_refused(dtype, tmp_path: Path):
    path = saved(tmp_path / "a.tif", Image.fromarray(np.full((4, 4), 7, dtype)))
    with pytest.raises(InputError, match=r"a\.tif: this image cannot be read \(.*32 bits.* save it with 8 or 16\)"):
        BYTES.read(path)


def test_alpha_is_dropped_as_convert_drops_it(tmp_path: Path):
    clear = saved(tmp_path / "clear.png", Image.new("RGBA", (4, 4), (255, 128, 0, 0)))
    assert BYTES.read(clear)[0, 0].tolist() == [255, 128, 0]
    grey = saved(tmp_path / "grey.png", Image.new("LA", (4, 4), (99, 0)))
    assert BYTES.read(grey)[0, 0].tolist() == [99, 99, 99]


def test_a_palette_with_clear_colours_is_read_without_a_warning(tmp_path: Path):
    image = Image.new("P", (4, 4), 2)
    image.putpalette([0, 0, 0, 1, 1, 1, 10, 20, 30])
    image.save(tmp_path / "p.png", transparency=b"\0\1\2")
    assert BYTES.read(tmp_path / "p.png")[0, 0].tolist() == [10, 20, 30]


def noise(width: int, height: int) -> Image.Image:
    return Image.fromarray(np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8))


def resized_and_cropped(image: Image.Image, reader: ImageReader) -> np.ndarray:
    scale = reader.enlarged * max(reader.width / image.width, reader.height / image.height)
    wide, high = round(image.width * scale), round(image.height * scale)
    left, top = (wide - reader.width) // 2, (high - reader.height) // 2
    whole = image.resize((wide, high), Image.Resampling.BILINEAR)
    return np.asarray(whole.crop((left, top, left + reader.width, top + reader.height)))


SIZES = [(640, 480), (333, 500), (20, 10), (9, 31), (1024, 683), (224, 224), (17, 1000)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("enlarged", [1.0, 256 / 224])
def test_the_middle_is_that_of_the_whole_image_resized(enlarged, size, tmp_path: Path, monkeypatch):
    reader = ImageReader(48, 64, 3, enlarged=enlarged, as_bytes=True)
    path = saved(tmp_path / "a.png", noise(*size))
    wanted = resized_and_cropped(noise(*size), reader)
    assert np.array_equal(reader.read(path), wanted)
    # Where the whole would be too large, only the middle is computed: the same but for rounding.
    monkeypatch.setattr(images, "_MOST_PIXELS", 1)
    assert np.abs(reader.read(path).astype(int) - wanted).max() <= 2


def test_a_narrow_image_takes_no_more_memory_than_its_middle(tmp_path: Path, monkeypatch):
    sizes: list[tuple[int, int]] = []
    resize = Image.Image.resize

    def watched(self: Image.Image, size: tuple[int, int], *arguments: Any, **more: Any) -> Image.Image:
        sizes.append(size)
        if size[0] * size[1] > 1 << 24:
            pytest.fail(f"an image of {size} pixels")
        return resize(self, size, *arguments, **more)

    monkeypatch.setattr(Image.Image, "resize", watched)
    reader = ImageReader(224, 224, 3, enlarged=256 / 224, as_bytes=True)
    column = np.arange(3000).reshape(3000, 1) // 12
    path = saved(tmp_path / "tall.png", Image.fromarray(column.astype(np.uint8)))
    assert np.unique(reader.read(path)).tolist() in ([124], [124, 125], [125])
    assert sizes == [(224, 224)]
    path = saved(tmp_path / "wide.png", Image.fromarray(column.astype(np.uint8).T))
    assert np.unique(reader.read(path)).tolist() in ([124], [124, 125], [125])


@pytest.mark.parametrize("content", [b"", b"no image", b"\x89PNG\r\n\x1a\n" + bytes(40)])
def test_a_broken_image_is_named_once(content, tmp_path: Path):
    path = tmp_path / "it's broken.png"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        BYTES.read(path)
    said = str(caught.value)
    assert said.startswith(f"{path}: this image cannot be read (")
    assert said.count("broken.png") == 1
    assert "the file" not in said


def test_an_image_that_may_not_be_read_says_why(tmp_path: Path):
    with pytest.raises(InputError, match=r"this image cannot be read \(Is a directory\)"):
        BYTES.read(tmp_path)


def test_an_image_that_is_given_twice_is_said_to_be(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("p").mkdir()
    saved(Path("p/a.png"), noise(2, 2))
    with pytest.raises(InputError, match=r"^p/a\.png: this image is given twice; give it once$"):
        find_images(["p", "p/a.png"])
    with pytest.raises(InputError, match=r"a\.png: this is p/a\.png, which is given already; give it once$"):
        find_images(["p", tmp_path / "p" / "a.png"])
    Path("q").mkdir()
    saved(Path("q/a.jpg"), noise(2, 2))
    with pytest.raises(InputError, match=r'^q/a\.jpg: p/a\.png has the same id, "a"; rename one of them'):
        find_images(["p", "q"])


def test_a_name_that_is_too_long_is_said_of_its_file():
    name = "a" * 300 + ".png"
    with pytest.raises(InputError, match=rf"^{name}: cannot be opened \(File name too long\)"):
        find_images([name])
