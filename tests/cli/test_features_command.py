"""`polyref features`, with models and images made here."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper
from PIL import Image
from tiny_onnx import averaging, tiny_model

from polyref.features.features import Features

COLOURS = {"red": (255, 0, 0), "green": (0, 128, 0), "grey": (51, 102, 153)}
PLAIN = ["--mean", "0", "--std", "1", "--float32"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three images of one colour each, of different sizes and formats; and a file that is none."""
    place = tmp_path / "images"
    (place / "more").mkdir(parents=True)
    Image.new("RGB", (20, 10), COLOURS["red"]).save(place / "red.png")
    Image.new("RGB", (9, 31), COLOURS["green"]).save(place / "green.PNG")
    Image.new("RGB", (8, 8), COLOURS["grey"]).save(place / "more" / "grey.bmp")
    (place / "notes.txt").write_text("no image")
    return place


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny_model(tmp_path / "model.onnx", ["images", 3, 8, 8])


def shares(*names: str) -> np.ndarray:
    return np.array([COLOURS[name] for name in names], np.float32) / 255


def features_of(run, *arguments: object, out: Path) -> Features:
    done = run("features", *arguments, "-o", out)
    assert (done.code, done.err) == (0, "")
    return Features.open(out)


def test_a_map_is_averaged_and_rows_are_found_by_file_name(run, folder, model, tmp_path: Path):
    out = tmp_path / "features.npz"
    done = run("features", folder, "--model", model, "-o", out)
    assert (done.code, done.err) == (0, "")
    assert done.out.decode() == f"3 features of 3 images in {out}\n"
    with np.load(out) as saved:
        assert saved["ids"].tolist() == ["green", "grey", "red"]
        assert saved["feats"].dtype == np.float16
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    wanted = ((shares("red", "green") - mean) / std).astype(np.float16)
    np.testing.assert_allclose(Features.open(out).rows(["red", "green"]), wanted, rtol=1e-3)


def test_numbers_are_normalised_as_asked(run, folder, model, tmp_path: Path):
    options = ["--model", model, "--mean", "0.5", "--std", "1,2,4", "--float32"]
    found = features_of(run, folder, *options, out=tmp_path / "f.npz")
    wanted = (shares("grey", "red") - 0.5) / np.array([1, 2, 4])
    np.testing.assert_allclose(found.rows(["grey", "red"]), wanted, atol=1e-6)


@pytest.mark.parametrize("batch", [1, 2, 16])
def test_the_same_file_again_and_for_any_batch(run, folder, model, batch, tmp_path: Path):
    first, again = tmp_path / "first.npz", tmp_path / "again.npz"
    assert run("features", folder, "--model", model, "-o", first).code == 0
    assert run("features", folder, "--model", model, "-o", again, "--batch", batch).code == 0
    assert first.read_bytes() == again.read_bytes()


def test_channels_may_come_last(run, folder, tmp_path: Path):
    model = tiny_model(tmp_path / "nhwc.onnx", ["images", 6, 4, 3])
    found = features_of(run, folder, "--model", model, *PLAIN, out=tmp_path / "f.npz")
    np.testing.assert_allclose(found.rows(["red", "grey"]), shares("red", "grey"), atol=1e-6)


def test_rows_and_sequences_of_vectors_are_features_too(run, folder, tmp_path: Path):
    row = tiny_model(tmp_path / "row.onnx", ["n", 3, 8, 8], [averaging("row", [2, 3])], {"row": ["n", 3]})
    flat = helper.make_node("Reshape", ["image", "form"], ["flat"])
    form = helper.make_node(
        "Constant", [], ["form"], value=helper.make_tensor("form", TensorProto.INT64, [3], [0, 3, -1])
    )
    turned = helper.make_node("Transpose", ["flat"], ["vectors"], perm=[0, 2, 1])
    vectors = tiny_model(tmp_path / "vectors.onnx", ["n", 3, 8, 8], [form, flat, turned], {"vectors": ["n", 64, 3]})
    for model in (row, vectors):
        found = features_of(run, folder, "--model", model, *PLAIN, out=tmp_path / "f.npz")
        np.testing.assert_allclose(found.rows(["red", "grey"]), shares("red", "grey"), atol=1e-6)


def test_a_model_for_so_many_images_gets_as_many(run, folder, tmp_path: Path):
    model = tiny_model(tmp_path / "two.onnx", [2, 3, 8, 8])  # of three images, the last stands alone
    found = features_of(run, folder, "--model", model, *PLAIN, out=tmp_path / "f.npz")
    assert len(found) == 3
    np.testing.assert_allclose(found.rows(["green", "grey", "red"]), shares("green", "grey", "red"), atol=1e-6)


def test_a_model_of_bytes_gets_bytes(run, folder, tmp_path: Path):
    cast = helper.make_node("Cast", ["image"], ["map"], to=TensorProto.FLOAT)
    model = tiny_model(tmp_path / "b.onnx", ["n", 4, 4, 3], [cast], {"map": ["n", 4, 4, 3]}, kind=TensorProto.UINT8)
    found = features_of(run, folder, "--model", model, "--float32", out=tmp_path / "f.npz")
    np.testing.assert_array_equal(found.rows(["red", "grey"]), [COLOURS["red"], COLOURS["grey"]])
    done = run("features", folder, "--model", model, "-o", tmp_path / "f.npz", "--mean", "0.5")
    assert "normalises them itself" in done.err


def test_a_model_of_one_channel_gets_grey_images(run, folder, tmp_path: Path):
    model = tiny_model(tmp_path / "grey.onnx", ["n", 1, 4, 4])
    found = features_of(run, folder, "--model", model, "--float32", out=tmp_path / "f.npz")
    with Image.open(folder / "red.png") as image:
        grey = image.convert("L").getpixel((0, 0))
    np.testing.assert_allclose(found.rows(["red"]), [[grey / 255]], atol=1e-6)


def halves(path: Path) -> Path:
    """The left third black, the middle one white, the right one black."""
    image = Image.new("RGB", (90, 30))
    image.paste((255, 255, 255), (30, 0, 60, 30))
    image.save(path)
    return path


def test_the_middle_is_cropped_or_all_is_squashed(run, tmp_path: Path):
    image = halves(tmp_path / "thirds.png")
    model = tiny_model(tmp_path / "any.onnx", ["n", 3, "height", "width"])
    common = [image, "--model", model, *PLAIN, "--size", 30]
    cropped = features_of(run, *common, "--resize", 30, out=tmp_path / "c.npz")
    np.testing.assert_allclose(cropped.rows(["thirds"]), [[1, 1, 1]], atol=1e-6)
    squashed = features_of(run, *common, "--fit", "squash", out=tmp_path / "s.npz")
    np.testing.assert_allclose(squashed.rows(["thirds"]), [[1 / 3] * 3], atol=0.02)
    closer = features_of(run, *common, "--resize", 60, out=tmp_path / "r.npz")
    np.testing.assert_allclose(closer.rows(["thirds"]), [[1, 1, 1]], atol=1e-6)


def test_images_stand_upright_before_they_are_cropped(run, tmp_path: Path):
    upright, turned = tmp_path / "upright.png", tmp_path / "turned.png"
    image = Image.new("RGB", (8, 8))
    image.paste((255, 255, 255), (0, 0, 8, 4))  # white above
    image.save(upright)
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter to the right
    image.transpose(Image.Transpose.ROTATE_90).save(turned, exif=exif)
    model = tiny_model(tmp_path / "rows.onnx", ["n", 3, 8, 8], [averaging("rows", [1, 3])], {"rows": ["n", 8]})
    options = [upright, turned, "--model", model, *PLAIN, "--resize", 8]
    found = features_of(run, *options, out=tmp_path / "f.npz").rows(["upright", "turned"])
    np.testing.assert_allclose(found, [[1] * 4 + [0] * 4] * 2, atol=1e-6)


def test_one_of_several_outputs_is_named(run, folder, tmp_path: Path):
    nodes = [averaging("channels", [2, 3]), averaging("rows", [1, 3])]
    model = tiny_model(tmp_path / "two.onnx", ["n", 3, 8, 8], nodes, {"channels": ["n", 3], "rows": ["n", 8]})
    out = tmp_path / "f.npz"
    found = features_of(run, folder, "--model", model, "--output-name", "rows", out=out)
    assert found.size == 8
    done = run("features", folder, "--model", model, "-o", out)
    assert "has 2 outputs (channels, rows); set --output-name to one of them" in done.err
    done = run("features", folder, "--model", model, "-o", out, "--output-name", "colums")
    assert 'has no output "colums"; choose one of channels, rows' in done.err


def test_two_images_of_one_name_are_refused_with_both_paths(run, folder, model, tmp_path: Path):
    Image.new("RGB", (4, 4)).save(folder / "more" / "red.jpg")
    done = run("features", folder, "--model", model, "-o", tmp_path / "f.npz")
    assert done.code == 2
    assert f'{folder / "red.png"}: {folder / "more" / "red.jpg"} has the same id, "red"' in done.err


def test_ids_may_be_the_numbers_in_the_names(run, model, tmp_path: Path):
    for name in ("COCO_val2014_000000000042.png", "COCO_val2014_000000391895.png"):
        Image.new("RGB", (4, 4)).save(tmp_path / name)
    found = features_of(run, tmp_path, "--model", model, "--ids", "number", out=tmp_path / "f.npz")
    assert "42" in found
    assert "391895" in found
    Image.new("RGB", (4, 4)).save(tmp_path / "none.png")
    done = run("features", tmp_path, "--model", model, "--ids", "number", "-o", tmp_path / "f.npz")
    assert "none.png: there is no number in the name" in done.err


@pytest.mark.parametrize("how", ["cut", "empty", "text"])
def test_a_broken_image_is_named_or_left_out_and_counted(run, folder, model, how, tmp_path: Path):
    content = (folder / "red.png").read_bytes()
    broken = folder / "broken.png"
    broken.write_bytes({"cut": content[:-30], "empty": b"", "text": b"no image"}[how])
    out = tmp_path / "f.npz"
    done = run("features", folder, "--model", model, "-o", out)
    assert (done.code, done.out) == (2, b"")
    assert f"{broken}: this image cannot be read" in done.err
    assert done.err.count("\n") == 1
    assert not out.exists()
    done = run("features", folder, "--model", model, "-o", out, "--skip-broken")
    assert done.code == 0
    assert done.err == f"polyref: 1 image left out, which cannot be read: {broken}\n"
    assert len(Features.open(out)) == 3
    done = run("features", folder, "--model", model, "-o", out, "--skip-broken", "--json")
    assert json.loads(done.out) == {"images": 3, "features": 3, "skipped": [str(broken)], "file": str(out)}
    done = run("features", broken, "--model", model, "-o", tmp_path / "none.npz", "--skip-broken")
    assert done.code == 2
    assert "no other image can" in done.err
    assert not (tmp_path / "none.npz").exists()


def test_numbers_that_do_not_fit_are_refused_by_the_name_of_the_image(run, folder, tmp_path: Path):
    factor = helper.make_node("Constant", [], ["by"], value=helper.make_tensor("by", TensorProto.FLOAT, [], [1e5]))
    times = helper.make_node("Mul", ["image", "by"], ["map"])
    model = tiny_model(tmp_path / "large.onnx", ["n", 3, 8, 8], [factor, times], {"map": ["n", 3, 8, 8]})
    options = [folder / "red.png", "--model", model, "--mean", "0", "--std", "1"]
    done = run("features", *options, "-o", tmp_path / "f.npz")
    assert "red.png: features too large for float16; set --float32" in done.err
    np.testing.assert_allclose(
        features_of(run, *options, "--float32", out=tmp_path / "f.npz").rows(["red"]), [[1e5, 0, 0]], rtol=1e-6
    )
    root = helper.make_node("Sqrt", ["image"], ["map"])
    model = tiny_model(tmp_path / "nan.onnx", ["n", 3, 8, 8], [root], {"map": ["n", 3, 8, 8]})
    done = run("features", folder / "red.png", "--model", model, "-o", tmp_path / "g.npz")
    assert "red.png: the model gives features that are not numbers" in done.err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--size", "16"], "model.onnx takes images of 8 x 8; leave it out"),
        (["--resize", "4"], "--resize is 4, but the model takes 8; give that or more"),
        (["--resize", "9", "--fit", "squash"], "--resize has no effect on squashed images; leave it out"),
        (["--mean", "a,b"], '--mean holds "a"; give a list of numbers from -1,000,000 to 1,000,000'),
        (["--mean", "1,2"], "--mean has 2 numbers, but images have 3 channels; give one or 3"),
        (["--mean", ""], "--mean has 0 numbers, but images have 3 channels; give one or 3"),
        (["--std", " , "], "--std has 0 numbers"),
        (["--mean", "nan"], "--mean holds nan; give a list of numbers from -1,000,000 to 1,000,000"),
        (["--mean", "0.5,inf,0"], "--mean holds inf"),
        (["--std", "nan"], "--std holds nan; give a list of numbers from 1e-06 to 1,000,000"),
        (["--std", "inf"], "--std holds inf"),
        (["--std", "0"], "--std holds 0.0"),
        (["--std", "1,1e-300,1"], "--std holds 1e-300"),
        (["--std=-1"], "--std holds -1.0"),
        (["--batch", "0"], "--batch is 0; give a whole number from 1 to 10,000"),
        (["-o", "f.json"], "end the name in .npz"),
        (["--model", "gone.onnx"], "gone.onnx: there is no such file"),
        (["--model", "FOLDER"], "this is a folder; name a file in it"),
        (["--model", "a" * 300], "cannot be opened (File name too long)"),
        (["--model", "FOLDER/notes.txt"], "onnxruntime cannot run it"),
        (["--layout", "nhwc"], "the model takes images of 8 channels; give one that takes 1 or 3"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(run, folder, model, options, says, tmp_path: Path):
    given = [option.replace("FOLDER", str(folder)) for option in options]
    done = run("features", folder, "--model", model, "-o", tmp_path / "f.npz", *given)
    assert (done.code, done.out) == (2, b"")
    assert says in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "f.npz").exists()


@pytest.mark.parametrize(
    ("shape", "says"),
    [
        (["n", 3, "h", "w"], "takes images of any size; set --size"),
        (["n", "c", "h", "w"], "set --layout to nchw or nhwc"),
        (["n", 12], "give one that takes images"),
    ],
)
def test_a_model_that_says_too_little_is_refused(run, folder, shape, says, tmp_path: Path):
    model = tiny_model(tmp_path / "vague.onnx", shape)
    done = run("features", folder, "--model", model, "-o", tmp_path / "f.npz")
    assert done.code == 2
    assert says in done.err


def test_a_model_that_fails_is_named(run, folder, tmp_path: Path):
    form = helper.make_tensor("form", TensorProto.INT64, [2], [-1, 3 * 8 * 8])
    nodes = [
        helper.make_node("Constant", [], ["form"], value=form),
        helper.make_node("Reshape", ["image", "form"], ["row"]),
    ]
    model = tiny_model(tmp_path / "fails.onnx", ["n", 3, "h", "w"], nodes, {"row": ["m", 192]})
    done = run("features", folder, "--model", model, "-o", tmp_path / "f.npz", "--size", 9)
    assert done.code == 2
    assert "fails.onnx: the model cannot be run" in done.err
    assert done.err.count("\n") == 1
    done = run("features", folder, "--model", model, "-o", tmp_path / "f.npz", "--size", 16)  # four rows an image
    assert 'the output "row" is 12 x 192 float32 for 3 images' in done.err


@pytest.mark.parametrize("package", ["onnxruntime", "PIL.Image"])
def test_a_missing_package_is_named(run, folder, model, package, monkeypatch, tmp_path: Path):
    monkeypatch.setitem(sys.modules, package, None)
    done = run("features", folder, "--model", model, "-o", tmp_path / "f.npz")
    assert done.code == 2
    assert 'pip install "polyref[images]"' in done.err


def test_no_images_are_said(run, model, tmp_path: Path):
    (tmp_path / "empty").mkdir()
    done = run("features", tmp_path / "empty", "--model", model, "-o", tmp_path / "f.npz")
    assert "there are no images in it" in done.err
    done = run("features", tmp_path / "gone.png", "--model", model, "-o", tmp_path / "f.npz")
    assert "there is no such file or folder" in done.err


def test_a_terminal_sees_progress(start, folder, model, tmp_path: Path):
    parent, child = pty.openpty()
    process = start("features", folder, "--model", model, "-o", tmp_path / "f.npz", stderr=child)
    assert process.wait() == 0
    os.close(child)
    shown = os.read(parent, 1 << 16)
    assert b"100%" in shown
    assert b"3 images" in shown
    os.close(parent)


def test_an_input_is_not_written_over(run, folder, model, tmp_path: Path):
    image, network = tmp_path / "image.npz", tmp_path / "network.npz"
    image.write_bytes((folder / "red.png").read_bytes())
    network.write_bytes(model.read_bytes())
    (tmp_path / "other").mkdir()
    link = tmp_path / "link.npz"
    link.symlink_to(network)
    inside = tmp_path / "inside.npz"
    inside.symlink_to(folder / "red.png")
    for images, out, given, says in (
        (folder, network, network, "this is the model"),
        (folder, tmp_path / "other" / ".." / "network.npz", network, "this is the model"),
        (folder, link, network, "this is the model"),
        (image, image, model, "this is one of the images"),
        (folder, inside, model, "this is one of the images"),
    ):
        before = out.read_bytes()
        done = run("features", images, "--model", given, "-o", out)
        assert done.code == 2
        assert done.err == f"polyref: {out}: {says}; choose another name for the output\n"
        assert out.read_bytes() == before


def test_a_name_that_is_too_long_is_one_line_about_that_file(run, model, tmp_path: Path):
    name = "a" * 300 + ".png"
    done = run("features", name, "--model", model, "-o", tmp_path / "f.npz")
    assert (done.code, done.err) == (2, f"polyref: {name}: cannot be opened (File name too long); check the path\n")
    done = run("features", tmp_path, "--model", model, "-o", tmp_path / ("a" * 300 + ".npz"))
    assert done.code == 2


def test_a_model_of_half_precision_gets_numbers_that_are_too_large_without_a_warning(run, folder, tmp_path: Path):
    cast = helper.make_node("Cast", ["image"], ["map"], to=TensorProto.FLOAT)
    shape = ["n", 3, 8, 8]
    model = tiny_model(tmp_path / "half.onnx", shape, [cast], {"map": shape}, kind=TensorProto.FLOAT16)
    options = ["--model", model, "--mean", "0", "--std", "0.000001", "--float32"]
    done = run("features", folder / "red.png", *options, "-o", tmp_path / "f.npz")
    assert done.code == 2
    assert "red.png: the model gives features that are not numbers" in done.err
    assert done.err.count("\n") == 1


def wait_for_reader(pipe: Path, process: subprocess.Popen[bytes]) -> int:
    while True:
        assert process.poll() is None, "ended before it was stopped"
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            time.sleep(0.02)


@pytest.mark.parametrize(
    ("number", "code", "older"), [(signal.SIGINT, 130, None), (signal.SIGTERM, 143, b"older")], ids=["Ctrl-C", "TERM"]
)
def test_a_run_that_is_stopped_leaves_no_half_file(number, code, older, start, folder, model, tmp_path: Path):
    place = tmp_path / "results"
    place.mkdir()
    if older is not None:
        (place / "f.npz").write_bytes(older)
    os.mkfifo(tmp_path / "slow.png")  # an image that never comes
    options = ["--batch", 1, "--model", model, "-o", place / "f.npz"]
    process = start("features", folder / "red.png", tmp_path / "slow.png", *options)
    pipe = wait_for_reader(tmp_path / "slow.png", process)
    assert [*place.glob(".f.npz.*.part")]
    os.killpg(process.pid, number)
    _, said = process.communicate()
    os.close(pipe)
    assert process.returncode == code
    assert b"Traceback" not in said
    assert [path.read_bytes() for path in place.iterdir()] == ([] if older is None else [older])
