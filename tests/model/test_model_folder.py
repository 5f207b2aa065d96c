"""A trained model in a folder."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from small_folders import FEATURE_SIZE, SOURCES, small_folder, small_model
from small_models import small_captioner, small_translator

import polyref
from polyref.errors import InputError, OutputError, SettingsError
from polyref.features.features import Features
from polyref.model.folder import (
    ABOUT,
    SOURCE,
    TARGET,
    WEIGHTS,
    Generated,
    load_model,
    load_weights,
    save_model,
    start_from,
)
from polyref.model.settings import BeamSettings, CaptionerSettings

IMAGES = np.random.default_rng(1).normal(size=(7, FEATURE_SIZE)).astype(np.float32)


def assert_alike(found: list[list[Generated]], wanted: list[list[Generated]]) -> None:
    """The same texts. Sums of products round by the processor and by what else is in a batch, so scores may differ in
    their last digits: double precision keeps 1e-12 of them."""
    for some, others in zip(found, wanted, strict=True):
        assert [one.text for one in some] == [one.text for one in others]
        for name in ("score", "log_prob"):
            assert [getattr(one, name) for one in some] == pytest.approx([getattr(one, name) for one in others], 1e-12)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small_folder(tmp_path / "model")


@pytest.mark.parametrize("kind", ["translator", "captioner"])
def test_a_model_that_is_read_back_says_the_same(kind, tmp_path: Path):
    made = small_model(kind)
    save_model(made, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    inputs = SOURCES if kind == "translator" else IMAGES
    wanted, found = made.generate(inputs), loaded.generate(inputs)
    assert [[one.text for one in of_one] for of_one in found] == [[one.text for one in of_one] for of_one in wanted]
    assert len({of_one[0].text for of_one in found}) > 2  # it does read its sources
    assert (loaded.kind, loaded.beam, loaded.fold_case) == (kind, made.beam, False)


@pytest.mark.parametrize("kind", ["translator", "captioner"])
@pytest.mark.parametrize("batch", [1, 2, 3, 100])
def test_the_result_does_not_depend_on_the_batch(kind, batch, tmp_path: Path):
    loaded = load_model(small_folder(tmp_path / "model", kind))
    inputs = SOURCES if kind == "translator" else IMAGES
    assert_alike(loaded.generate(inputs, best=3, batch=batch), loaded.generate(inputs, best=3))


def test_what_was_loaded_is_saved_as_it_was(folder: Path, tmp_path: Path):
    save_model(load_model(folder), tmp_path / "again")
    for name in (ABOUT, WEIGHTS, SOURCE, TARGET):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_the_best_come_first_and_the_first_is_that_of_a_search_for_one(folder: Path):
    loaded = load_model(folder)
    several, one = loaded.generate(SOURCES, best=4), loaded.generate(SOURCES)
    assert_alike([texts[:1] for texts in several], one)
    for texts in several:
        assert [text.score for text in texts] == sorted((text.score for text in texts), reverse=True)
        assert len(texts) == 4
        assert all(text.log_prob <= text.score for text in texts)  # a reward for each token is in the score


def test_a_text_is_listed_once_with_its_best_score(folder: Path, monkeypatch: pytest.MonkeyPatch):
    loaded = load_model(folder)
    [several] = loaded.generate(["two dogs"], best=4)
    monkeypatch.setattr(type(loaded.target), "decode", lambda self, tokens: "the same")
    [once] = loaded.generate(["two dogs"], best=4)
    assert [(one.text, one.score) for one in once] == [("the same", several[0].score)]


def test_more_texts_than_the_beam_is_wide_widen_it(folder: Path):
    loaded = load_model(folder)
    assert loaded.generate(["two dogs"], best=9) == loaded.generate(
        ["two dogs"], beam=replace(loaded.beam, beam=9, best=9)
    )


def test_how_it_searches_can_be_told(folder: Path):
    loaded = load_model(folder)
    found = loaded.generate(SOURCES, beam=BeamSettings(beam=1, longest=1))
    assert {of_one[0].text for of_one in found} == {""}  # one token, and that is the end


def test_a_model_of_lower_case_reads_capitals_as_small_letters(tmp_path: Path):
    loaded = load_model(small_folder(tmp_path / "folded", fold_case=True))
    assert loaded.generate(["THE MAT"]) == loaded.generate(["the mat"])
    kept = load_model(small_folder(tmp_path / "kept"))
    assert kept.generate(["THE MAT"]) != kept.generate(["the mat"])


def test_images_are_looked_up_by_their_ids(tmp_path: Path):
    loaded = load_model(small_folder(tmp_path / "model", "captioner"))
    ids = [f"photo {number}" for number in range(len(IMAGES))]
    np.savez(tmp_path / "features.npz", ids=np.array(ids), feats=IMAGES)
    wanted = loaded.generate(IMAGES)
    assert_alike(loaded.generate(ids[::-1], features=tmp_path / "features.npz"), wanted[::-1])
    assert_alike(loaded.generate(ids, features=Features(ids, IMAGES)), wanted)
    with pytest.raises(InputError, match='no features for "photo 9"'):
        loaded.generate(["photo 9"], features=tmp_path / "features.npz")


@pytest.mark.parametrize("kind", ["translator", "captioner"])
def test_nothing_to_read_says_nothing(kind, tmp_path: Path):
    loaded = load_model(small_folder(tmp_path / "model", kind))
    assert loaded.generate([] if kind == "translator" else IMAGES[:0]) == []


def test_inputs_that_a_model_cannot_read_are_refused(tmp_path: Path):
    translator = load_model(small_folder(tmp_path / "translator"))
    captioner = load_model(small_folder(tmp_path / "captioner", "captioner"))
    for wrong in (
        lambda: translator.generate("one text"),
        lambda: translator.generate(IMAGES),
        lambda: translator.generate(["text"], features=Features(["1"], IMAGES[:1])),
        lambda: translator.generate(["text"], batch=0),
        lambda: translator.generate(["text"], batch=1.5),
        lambda: translator.generate(["text"], best=2.5),
        lambda: translator.generate(["text"], best="2"),
        lambda: translator.generate(["text"], beam=3),
        lambda: translator.generate(None),
        lambda: translator.generate(5),
        lambda: translator.generate([None]),
        lambda: captioner.generate(["photo 1"]),
        lambda: captioner.generate(None, features=Features(["1"], IMAGES[:1])),
        lambda: captioner.generate([1], features=Features(["1"], IMAGES[:1])),
        lambda: captioner.generate([[0.5] * FEATURE_SIZE], features=Features(["1"], IMAGES[:1])),
    ):
        with pytest.raises(SettingsError) as caught:
            wrong()
        assert "; " in str(caught.value)  # what is wrong; cure
    with pytest.raises(InputError, match="4 features per image, but the model reads 5"):
        captioner.generate(IMAGES[:, :4])
    with pytest.raises(InputError, match="features of the form 5"):
        captioner.generate(IMAGES[0])
    with pytest.raises(InputError, match="not numbers"):
        captioner.generate(np.full((1, FEATURE_SIZE), np.nan, np.float32))


def test_texts_may_come_one_by_one(folder: Path):
    loaded = load_model(folder)
    assert loaded.generate(text for text in SOURCES) == loaded.generate(SOURCES)


def test_loading_draws_no_random_numbers(folder: Path):
    before = torch.random.get_rng_state()
    load_model(folder)
    assert torch.equal(torch.random.get_rng_state(), before)


# -- the best so far, and where to start ----------------------------------------------------------------------------


def test_the_weights_of_a_file_are_saved_in_place_of_the_models_own(tmp_path: Path):
    other = small_folder(tmp_path / "other", seed=1) / WEIGHTS
    save_model(small_model(), tmp_path / "model", weights=other)
    assert (tmp_path / "model" / WEIGHTS).read_bytes() == other.read_bytes()
    assert load_model(tmp_path / "model").generate(SOURCES) == load_model(tmp_path / "other").generate(SOURCES)


@pytest.mark.parametrize("from_file", [False, True])
def test_a_folder_can_be_read_at_any_moment_while_its_weights_are_replaced(
    from_file, folder: Path, tmp_path: Path, monkeypatch
):
    other = small_folder(tmp_path / "other", seed=1) / WEIGHTS
    old, new = (folder / WEIGHTS).read_bytes(), other.read_bytes()
    seen = []

    def look(step):
        def run(*arguments: object, **choices: object) -> object:
            load_model(folder)
            seen.append((folder / WEIGHTS).read_bytes())
            result = step(*arguments, **choices)
            load_model(folder)
            seen.append((folder / WEIGHTS).read_bytes())
            return result

        return run

    for name in ("unlink", "replace"):
        monkeypatch.setattr(Path, name, look(getattr(Path, name)))
    save_model(small_model(seed=1), folder, weights=other if from_file else None)
    assert old in seen
    assert set(seen) <= {old, new}
    assert (folder / WEIGHTS).read_bytes() == new


def test_a_folder_of_another_model_is_none_until_all_of_the_new_one_is_there(folder: Path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(OutputError, match="No space left"):
            save_model(small_model(fold_case=True), folder)
    with pytest.raises(InputError, match=r"there is no model\.json in it"):
        load_model(folder)
    assert not list(folder.glob("*.partial"))
    save_model(small_model(fold_case=True), folder)
    assert load_model(folder).fold_case


def test_a_start_may_differ_in_what_only_training_looks_at(folder: Path):
    model = small_model(seed=1).model
    model.settings = replace(model.settings, dropout=0.5, label_smoothing=0.1)
    start_from(folder, model, fold_case=False)
    own = small_model().model.state_dict()
    assert all(torch.equal(weight, own[name]) for name, weight in model.state_dict().items())


def test_a_start_that_is_another_model_is_refused_in_one_line(folder: Path, tmp_path: Path):
    settings = small_model().model.settings
    for says, start, wanted, fold_case in (
        ("gone: there is no such folder", tmp_path / "gone", settings, False),
        ("there is no model.json in it", tmp_path, settings, False),
        ("it is a translator, and the recipe trains a captioner", folder, CaptionerSettings(), False),
        (
            "model.embedding_size is 16 there and 128 in the recipe; set it to 16, or start from another model",
            folder,
            replace(settings, embedding_size=128),
            False,
        ),
        ("model.tied is false there and true", folder, replace(settings, tied=True), False),
        ("data.fold_case is false there and true in the recipe", folder, settings, True),
    ):
        with pytest.raises(InputError) as caught:
            start_from(start, SimpleNamespace(settings=wanted), fold_case=fold_case)
        assert says in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_folder_whose_training_has_not_come_to_a_model_says_so(tmp_path: Path):
    (tmp_path / "checkpoints" / "000000010-0000-0000010").mkdir(parents=True)
    with pytest.raises(InputError, match="its training has not come to a model yet; go on with it: polyref train"):
        load_model(tmp_path)


# -- folders that are no models -------------------------------------------------------------------------------------


def test_no_folder_and_no_model_in_it_are_told_apart(tmp_path: Path):
    with pytest.raises(InputError, match=r"gone: there is no such folder; give a folder that polyref train has made"):
        load_model(tmp_path / "gone")
    with pytest.raises(InputError, match=r"there is no model\.json in it"):
        load_model(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file: this is a file; give a folder that polyref train has made"):
        load_model(tmp_path / "file")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "cannot be read"),
        ("[]", "does not describe a model"),
        ("{}", "does not describe a model"),
        ('"version"', "does not describe a model"),
        ("[" * 100_000, "cannot be read"),
    ],
)
def test_a_description_that_is_none_is_refused(content, says, folder: Path):
    (folder / ABOUT).write_text(content)
    with pytest.raises(InputError, match=says):
        load_model(folder)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"version": 2}, "the model is of version 2, and this polyref reads 1; train it again"),
        ({"kind": "painter"}, 'unknown kind of model, "painter"'),
        ({"kind": None}, 'has no "kind"'),
        ({"fold_case": "no"}, 'has no "fold_case"'),
        ({"settings": {"state_size": 16, "wings": 2}}, "does not describe a model .*wings"),
        ({"settings": {"state_size": 15}}, "does not describe a model .*even number"),
        ({"settings": {"state_size": "16"}}, "does not describe a model"),
        ({"beam": {"beam": 0}}, "does not describe a model .*beam is 0"),
        ({"beam": {"beam": 5.5}}, "does not describe a model .*beam is 5.5"),
        ({"beam": {"beam": 5, "longest": 10.5}}, "does not describe a model .*longest is 10.5"),
        ({"beam": {"beam": 5, "power": 5000}}, "does not describe a model .*power is 5000"),
        ({"beam": {"beam": 5, "power": "a"}}, 'does not describe a model .*power is "a"'),
        ({"settings": {"state_size": 16.0}}, "does not describe a model .*state_size is 16.0"),
        ({"settings": {"embedding_size": True}}, "does not describe a model .*embedding_size is true"),
        ({"settings": {"state_size": 32}}, "the weights cannot be read .* not float32"),
    ],
)
def test_a_description_of_another_model_is_refused(change, says, folder: Path):
    about = json.loads((folder / ABOUT).read_text())
    (folder / ABOUT).write_text(json.dumps(about | change))
    with pytest.raises(InputError, match=says):
        load_model(folder)


def test_sizes_that_no_memory_holds_are_compared_before_there_is_such_a_model(folder: Path):
    about = json.loads((folder / ABOUT).read_text())
    about["settings"]["state_size"] = 90_000
    (folder / ABOUT).write_text(json.dumps(about))
    with pytest.raises(InputError, match=r"not float32 \[180000, 16\]\); put back the files"):
        load_model(folder)


def test_weights_that_are_a_folder_are_refused_as_one(folder: Path):
    (folder / WEIGHTS).unlink()
    (folder / WEIGHTS).mkdir()
    with pytest.raises(InputError, match=r"the weights cannot be read \(Is a directory\)"):
        load_model(folder)


@pytest.mark.parametrize("kept", [0, 4, 100, -1])
def test_weights_that_were_cut_off_are_refused_by_name(kept, folder: Path):
    content = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(content[:kept])
    with pytest.raises(InputError, match=r"weights\.safetensors: the weights cannot be read"):
        load_model(folder)


@pytest.mark.parametrize("name", [WEIGHTS, SOURCE, TARGET])
def test_a_missing_file_is_named(name, folder: Path):
    (folder / name).unlink()
    with pytest.raises(InputError, match=name):
        load_model(folder)


@pytest.mark.parametrize("name", [SOURCE, TARGET])
def test_subwords_that_the_weights_are_not_for_are_refused_with_both_sizes(name, folder: Path):
    sizes = {name: len(json.loads((folder / name).read_text())["model"]["vocab"]) for name in (SOURCE, TARGET)}
    other = SOURCE if name == TARGET else TARGET
    (folder / name).write_bytes((folder / other).read_bytes())
    says = rf"is float32 \[{sizes[name]}, 16\], not float32 \[{sizes[other]}, 16\]\); put back the files"
    with pytest.raises(InputError, match=says):
        load_model(folder)


def test_weights_that_are_pickled_are_refused_not_run(folder: Path):
    torch.save({"words.vectors.weight": torch.zeros(2, 2)}, folder / WEIGHTS)
    with pytest.raises(InputError, match="cannot be read"):
        load_model(folder)


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        save_model(small_model(), tmp_path / "file")


def test_the_front_of_the_package_loads_models_and_torch_only_then(folder: Path):
    code = (
        "import sys, polyref\n"
        "assert 'torch' not in sys.modules\n"
        "model = polyref.load_model(sys.argv[1])\n"
        "print(model.generate(['two dogs run'])[0][0].text)"
    )
    done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip("\n") == polyref.load_model(folder).generate(["two dogs run"])[0][0].text


# -- weights --------------------------------------------------------------------------------------------------------


def written(model: torch.nn.Module, path: Path) -> Path:
    save_file(model.state_dict(), path)
    return path


@pytest.mark.parametrize(
    "make", [small_translator, small_captioner, lambda seed: small_translator(seed=seed, tied=True)]
)
def test_weights_come_back_as_they_were(make, tmp_path: Path):
    model, other = make(seed=1), make(seed=2)
    load_weights(other, written(model, tmp_path / WEIGHTS))
    for name, weight in model.state_dict().items():
        assert torch.equal(other.state_dict()[name], weight), name


def test_a_model_that_weights_do_not_fit_is_left_as_it_was(tmp_path: Path):
    path = written(small_translator(words=11, seed=1), tmp_path / WEIGHTS)
    model = small_translator(words=13)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    with pytest.raises(InputError) as caught:
        load_weights(model, path)
    assert str(caught.value) == (
        f"{path}: the weights cannot be read (words.output is float32 [11, 12], not float32 [13, 12]); "
        "put back the files that the model was trained with, or train it again"
    )
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())


def test_weights_that_are_missing_or_too_many_are_named(tmp_path: Path):
    weights = dict(small_translator().state_dict())
    save_file({**weights, "spare": torch.zeros(1)}, tmp_path / WEIGHTS)
    with pytest.raises(InputError, match="spare does not belong there"):
        load_weights(small_translator(), tmp_path / WEIGHTS)
    del weights["attention.project.weight"]
    save_file(weights, tmp_path / WEIGHTS)
    with pytest.raises(InputError, match=r"attention\.project\.weight is missing"):
        load_weights(small_translator(), tmp_path / WEIGHTS)


def test_a_file_that_holds_no_weights_is_refused(tmp_path: Path):
    (tmp_path / WEIGHTS).write_bytes(b"nothing")
    for path, says in ((tmp_path / WEIGHTS, ""), (tmp_path / "gone", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(InputError, match=f"{path}: the weights cannot be read .*{says}"):
            load_weights(small_translator(), path)


def test_whoever_may_read_new_files_may_read_the_model(tmp_path: Path):
    before = os.umask(0o022)
    try:
        save_model(small_model(), tmp_path / "one")
        save_model(small_model(), tmp_path / "other", weights=tmp_path / "one" / WEIGHTS)
    finally:
        os.umask(before)
    for path in tmp_path.glob("*/*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o644, path.name


@pytest.mark.parametrize("from_file", [False, True])
def test_nothing_is_left_of_weights_that_could_not_be_written(from_file, folder: Path, tmp_path: Path, monkeypatch):
    other = small_folder(tmp_path / "other", seed=1) / WEIGHTS
    before = (folder / WEIGHTS).read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)  # written, but not on the disk
    with pytest.raises(OutputError, match="No space left"):
        save_model(small_model(seed=1), folder, weights=other if from_file else None)
    assert (folder / WEIGHTS).read_bytes() == before
    assert not list(folder.glob("*.partial"))
