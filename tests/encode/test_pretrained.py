"""A pretrained model as an encoder; the models here are tiny, and made by the test."""

import logging
import os
import pickle
import shutil
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyref.encode import Encoder, measure_baseline, unit_vectors, unrelated_sentences
from polyref.encode.pretrained import PretrainedEncoder, parse_name
from polyref.errors import InputError, MissingExtraError, SettingsError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import huggingface_hub  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from tiny_models import PIECES, SIZE, bert, change_json, gpt2, roberta, t5  # noqa: E402

LONG = 12  # the positions of the model that reads long sentences in windows: ten of them are for sub-words


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def encoder(folder: Path) -> PretrainedEncoder:
    return PretrainedEncoder.load(str(folder))


@pytest.fixture(scope="module")
def short_sighted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bert(tmp_path_factory.mktemp("short"), positions=LONG)


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    """A copy that a test may break."""
    return Path(shutil.copytree(folder, tmp_path / "copy"))


def states_by_hand(folder: Path, ids: Sequence[int], layer: int) -> np.ndarray:
    """What the whole model says of these tokens at a layer."""
    model = transformers.AutoModel.from_pretrained(folder).eval()
    model = model.get_encoder() if model.config.is_encoder_decoder else model
    with torch.inference_mode():
        return model(input_ids=torch.tensor([ids]), output_hidden_states=True).hidden_states[layer][0].numpy()


def ids_of(pieces: str) -> list[int]:
    return [PIECES.index(piece) for piece in pieces.split()]


def close(found: np.ndarray, expected: np.ndarray) -> bool:
    return bool(np.allclose(found.astype(float), unit_vectors(expected).astype(float), atol=1e-3))


def refused(name: str | Path, layer: int | None = None) -> InputError:
    with pytest.raises(InputError) as error:
        PretrainedEncoder.load(str(name), layer)
    assert "\n" not in str(error.value)
    assert error.value.cure
    assert error.value.__cause__ is None
    return error.value


# -- a name ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("bert-base-uncased", ("bert-base-uncased", None)),
        ("owner/name@3", ("owner/name", 3)),
        ("owner/name@0", ("owner/name", 0)),
        ("owner/name@-1", ("owner/name", -1)),
        ("/a@2/model", ("/a@2/model", None)),
        ("/a@2/model@12", ("/a@2/model", 12)),
        ("/models/it@3/", ("/models/it@3/", None)),
        ("C:\\models\\bert@1", ("C:\\models\\bert", 1)),
        ("name@", ("name@", None)),
        ("name@last", ("name@last", None)),
        ("name@٣", ("name@٣", None)),
        ("@3", ("@3", None)),
        ("", ("", None)),
    ],
)
def test_a_name_may_end_in_a_layer(rest, expected):
    assert parse_name(rest) == expected


def test_it_is_an_encoder_with_a_name_that_opens_it_again(folder: Path):
    encoder: Encoder = PretrainedEncoder.load(str(folder), 3)
    assert encoder.name == f"huggingface:{folder}@3"
    assert parse_name(encoder.name.removeprefix("huggingface:")) == (str(folder), 3)


def test_the_hash_names_the_content_and_the_layer(folder: Path, copy: Path):
    first = PretrainedEncoder.load(str(folder), 1).hash
    assert PretrainedEncoder.load(str(copy), 1).hash == first
    assert PretrainedEncoder.load(str(copy), 2).hash != first
    (copy / "README.md").write_text("what it was trained on")
    assert PretrainedEncoder.load(str(copy), 1).hash == first
    change_json(copy / "config.json", hidden_act="relu")
    other_config = PretrainedEncoder.load(str(copy), 1).hash
    weights = load_file(copy / "model.safetensors")
    save_file({key: weight + 1 for key, weight in weights.items()}, copy / "model.safetensors", {"format": "pt"})
    assert len({first, other_config, PretrainedEncoder.load(str(copy), 1).hash}) == 3
    assert len(first) == 16


def test_the_baseline_is_measured_on_the_text_of_the_package_once(folder: Path):
    encoder = PretrainedEncoder.load(str(folder))
    assert encoder.baseline == measure_baseline(encoder, unrelated_sentences())
    encoder.encode = lambda sentences: []  # type: ignore[method-assign]
    assert 0 < encoder.baseline < 1


# -- words ----------------------------------------------------------------------------------------------------------


def test_a_word_has_the_mean_of_its_sub_words(folder: Path, encoder: PretrainedEncoder):
    [encoding] = encoder.encode([["the", "cats", "satting", "."]])
    states = states_by_hand(folder, ids_of("[CLS] the cat ##s sat ##ting . [SEP]"), 2).astype(np.float64)
    expected = [states[1], (states[2] + states[3]) / 2, (states[4] + states[5]) / 2, states[6]]
    assert encoding.vectors.dtype == np.float16
    assert encoding.vectors.tobytes() == unit_vectors(np.array(expected)).tobytes()
    assert encoding.known.tolist() == [True] * 4


def test_a_word_depends_on_the_words_around_it(encoder: PretrainedEncoder):
    [first, second] = encoder.encode([["the", "cat", "sat"], ["the", "cat", "mat"]])
    assert first.vectors[0].tobytes() != second.vectors[0].tobytes()


def test_unknown_words_are_not_known_and_have_no_direction(encoder: PretrainedEncoder):
    [encoding] = encoder.encode([["the", "猫", "cat", "ж", "猫"]])
    assert encoding.known.tolist() == [True, False, True, False, False]
    assert not encoding.vectors[[1, 3, 4]].any()


def test_a_word_that_is_known_in_part_has_the_mean_of_that_part(folder: Path, encoder: PretrainedEncoder):
    [encoding] = encoder.encode([["cat猫dog"]])
    states = states_by_hand(folder, ids_of("[CLS] cat [UNK] dog [SEP]"), 2)
    assert encoding.known[0]
    assert close(encoding.vectors, states[[1, 3]].mean(axis=0, keepdims=True))


@pytest.mark.parametrize("word", ["\x01", "\u200b", "", " ", "\ud800"])
def test_a_word_of_which_no_sub_word_is_left_is_not_known(word, encoder: PretrainedEncoder):
    [encoding] = encoder.encode([["the", word, "cat"]])
    assert encoding.known.tolist() == [True, False, True]
    assert not encoding.vectors[1].any()
    assert not encoder.encode([[word]])[0].known.any()


def test_a_sentence_without_words_has_no_vectors(encoder: PretrainedEncoder):
    [encoding] = encoder.encode([[]])
    assert encoding.vectors.shape == (0, SIZE)
    assert encoding.vectors.dtype == np.float16
    assert encoding.known.shape == (0,)
    assert encoder.encode([]) == []


def test_a_word_that_looks_like_a_special_token_is_a_word(folder: Path, encoder: PretrainedEncoder):
    [encoding] = encoder.encode([["(", "[SEP]", "cat"]])
    states = states_by_hand(folder, ids_of("[CLS] ( [UNK] s ##e ##p [UNK] cat [SEP]"), 2)
    assert close(encoding.vectors[1:2], states[3:6].mean(axis=0, keepdims=True))
    assert close(encoding.vectors[2:], states[7:8])


def test_the_space_before_a_word_and_the_bytes_of_a_character_belong_to_the_word(tmp_path: Path):
    folder = gpt2(tmp_path / "gpt2")
    words = ["cat", "cat", "😀", "国x", "cat"]
    encoder = PretrainedEncoder.load(str(folder))
    [encoding] = encoder.encode([words])
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids = [tokenizer(text)["input_ids"] for text in ["cat", " cat", " 😀", " 国x", " cat"]]
    assert [len(pieces) for pieces in ids] == [1, 1, 5, 5, 1]
    states = states_by_hand(folder, [id for pieces in ids for id in pieces], 2)
    # A space that is a sub-word of its own is no part of a word.
    rows = [[0], [1], [3, 4, 5, 6], [8, 9, 10, 11], [12]]
    assert encoding.known.all()
    assert close(encoding.vectors, np.array([states[row].mean(axis=0) for row in rows]))


def test_an_unknown_word_is_not_known_by_the_mark_of_its_start(tmp_path: Path):
    folder = t5(tmp_path / "t5")
    [encoding] = PretrainedEncoder.load(str(folder)).encode([["😀", "cats", "😀", "国"]])
    assert encoding.known.tolist() == [False, True, False, True]
    states = states_by_hand(folder, [3, 2, 4, 5, 3, 2, 3, 6, 1], 2)
    assert close(encoding.vectors[[1, 3]], np.array([states[2:4].mean(axis=0), states[7]]))


# -- layers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("layers", "middle"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)])
def test_the_middle_layer_is_read_if_none_is_named(layers, middle, tmp_path: Path):
    assert PretrainedEncoder.load(str(bert(tmp_path, layers=layers))).name.endswith(f"@{middle}")


@pytest.mark.parametrize("make", [bert, gpt2], ids=["bert", "a normalisation at the end"])
def test_each_layer_is_the_one_of_the_whole_model(make: Callable[[Path], Path], tmp_path: Path):
    folder = make(tmp_path)
    ids = transformers.AutoTokenizer.from_pretrained(folder)("cat cat")["input_ids"]
    inside = slice(1, 3) if make is bert else slice(0, 2)
    for layer in range(5):
        [encoding] = PretrainedEncoder.load(str(folder), layer).encode([["cat", "cat"]])
        expected = states_by_hand(folder, ids, layer)[inside]
        assert encoding.vectors.tobytes() == unit_vectors(expected).tobytes()


@pytest.mark.parametrize(
    ("make", "left"), [(bert, [0, 1, 2, 3, 4]), (gpt2, [1, 2, 3, 4, 4])], ids=["bert", "a normalisation at the end"]
)
def test_layers_that_are_not_read_are_not_computed(make: Callable[[Path], Path], left, tmp_path: Path):
    folder = make(tmp_path)
    loaded = [PretrainedEncoder.load(str(folder), layer)._model for layer in range(5)]
    assert [len(model.encoder.layer if make is bert else model.h) for model in loaded] == left


@pytest.mark.parametrize("layer", [-1, 5, 10**9])
def test_a_layer_that_is_not_there_is_refused_with_those_that_are(layer, folder: Path):
    with pytest.raises(SettingsError, match=rf"has no layer {layer}; choose one from 0 to 4$"):
        PretrainedEncoder.load(str(folder), layer)


def test_weights_in_half_precision_are_read_as_whole_ones(copy: Path):
    weights = load_file(copy / "model.safetensors")
    save_file({key: weight.half() for key, weight in weights.items()}, copy / "model.safetensors", {"format": "pt"})
    change_json(copy / "config.json", dtype="float16")
    [encoding] = PretrainedEncoder.load(str(copy)).encode([["cat"]])
    save_file({key: weight.half().float() for key, weight in weights.items()}, copy / "model.safetensors")
    change_json(copy / "config.json", dtype="float32")
    assert encoding.vectors.tobytes() == PretrainedEncoder.load(str(copy)).encode([["cat"]])[0].vectors.tobytes()


# -- windows --------------------------------------------------------------------------------------------------------

# 23 sub-words: windows of ten begin at 0, 5, 10 and 15.
LETTERS = list("abcdefghijklmnopqrstuvw")


@pytest.mark.parametrize(
    ("word", "start"),
    [(0, 0), (4, 0), (7, 0), (8, 5), (12, 5), (13, 10), (17, 10), (18, 15), (22, 15)],
)
def test_a_word_of_a_long_sentence_is_read_where_it_stands_furthest_from_an_edge(word, start, short_sighted: Path):
    [encoding] = PretrainedEncoder.load(str(short_sighted)).encode([LETTERS])
    window = " ".join(["[CLS]", *LETTERS[start : start + 10], "[SEP]"])
    states = states_by_hand(short_sighted, ids_of(window), 2)
    assert encoding.known.all()
    assert encoding.vectors[word].tobytes() == unit_vectors(states[[word - start + 1]])[0].tobytes()


def test_a_sentence_that_just_fits_is_one_window(short_sighted: Path):
    [encoding] = PretrainedEncoder.load(str(short_sighted)).encode([LETTERS[:10]])
    states = states_by_hand(short_sighted, ids_of(" ".join(["[CLS]", *LETTERS[:10], "[SEP]"])), 2)
    assert encoding.vectors.tobytes() == unit_vectors(states[1:11]).tobytes()


@pytest.mark.parametrize(
    ("before", "word", "window"),
    [
        # At 8 to 12: the first window has two sub-words of it, and the second one all.
        ("abcdefgh", "vwxyz", "[CLS] f g h v ##w ##x ##y ##z i j [SEP]"),
        # At 5 to 12: it touches the edge of the second window, as its first half does that of the first one.
        ("abcde", "stuvwxyz", "[CLS] s ##t ##u ##v ##w ##x ##y ##z i j [SEP]"),
    ],
)
def test_a_word_at_an_edge_is_read_whole(before, word, window, short_sighted: Path):
    [encoding] = PretrainedEncoder.load(str(short_sighted)).encode([[*before, word, *"ijklmnop"]])
    states = states_by_hand(short_sighted, ids_of(window), 2)
    start = window.split().index(word[0])
    assert close(encoding.vectors[[len(before)]], states[start : start + len(word)].mean(axis=0, keepdims=True))


def test_a_word_longer_than_a_window_has_what_one_window_shows_of_it(short_sighted: Path):
    [encoding] = PretrainedEncoder.load(str(short_sighted)).encode([["cat", "a" * 30, "dog"]])
    assert encoding.known.all()
    assert encoding.vectors.any(axis=1).all()


def test_the_length_of_a_window_is_the_least_bound_that_is_known(copy: Path):
    change_json(copy / "tokenizer_config.json", model_max_length=7)
    [encoding] = PretrainedEncoder.load(str(copy)).encode([LETTERS[:6]])
    states = states_by_hand(copy, ids_of("[CLS] a b c d e [SEP]"), 2)
    assert encoding.vectors[0].tobytes() == unit_vectors(states[[1]])[0].tobytes()


def test_the_positions_that_padding_takes_are_not_counted(tmp_path: Path):
    encoder = PretrainedEncoder.load(str(roberta(tmp_path, positions=22)))
    [encoding] = encoder.encode([["cat"] * 100])
    assert encoding.known.all()


def test_a_model_without_a_bound_reads_all_at_once(tmp_path: Path):
    folder = t5(tmp_path)
    [encoding] = PretrainedEncoder.load(str(folder)).encode([["cat"] * 700])
    states = states_by_hand(folder, [4] * 700 + [1], 2)
    assert close(encoding.vectors, states[:700])


# -- laws -----------------------------------------------------------------------------------------------------------

WORDS = st.lists(st.sampled_from(["cats", "the", "dog", "mat", "猫", "\x01", "3.5", "a-b"]), max_size=14)


@settings(max_examples=40)
@given(sentence=WORDS, before=st.lists(WORDS, max_size=3), after=st.lists(WORDS, max_size=3))
def test_a_sentence_has_the_same_bytes_alone_and_in_any_batch(sentence, before, after, short_sighted: Path):
    encoder = opened(short_sighted)
    [alone] = encoder.encode([sentence])
    among = encoder.encode([*before, sentence, *after])[len(before)]
    assert among.vectors.tobytes() == alone.vectors.tobytes()
    assert among.known.tobytes() == alone.known.tobytes()


_opened: dict[Path, PretrainedEncoder] = {}


def opened(folder: Path) -> PretrainedEncoder:
    if folder not in _opened:
        _opened[folder] = PretrainedEncoder.load(str(folder))
    return _opened[folder]


def test_the_number_of_threads_changes_nothing_and_is_not_changed(folder: Path):
    before = torch.get_num_threads()
    found = set()
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            encoder = PretrainedEncoder.load(str(folder))
            found.add(b"".join(encoding.vectors.tobytes() for encoding in encoder.encode(unrelated_sentences()[:20])))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert len(found) == 1


def test_equal_sentences_pass_through_the_model_once(folder: Path):
    encoder = PretrainedEncoder.load(str(folder))
    passes = []
    encoder._model.register_forward_hook(lambda *_: passes.append(1))
    encodings = encoder.encode([["cat"], ["dog"], ("cat",), ["cat"]])
    assert len(passes) == 2
    assert [encoding.vectors.tobytes() == encodings[0].vectors.tobytes() for encoding in encodings] == [1, 0, 1, 1]


def test_nothing_is_printed_and_everything_is_left_as_it_was(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    shown = transformers.utils.logging
    bars: list[Any] = []
    monkeypatch.setattr(shown, "_tqdm_hook", lambda *given: bars.append(given))
    state = (
        lambda: torch.random.get_rng_state().tolist(),
        lambda: [logging.getLogger(name).level for name in ("transformers", "huggingface_hub")],
        shown.is_progress_bar_enabled,
        lambda: shown._tqdm_hook,
        lambda: list(warnings.filters),
        torch.is_inference_mode_enabled,
        torch.is_grad_enabled,
        lambda: dict(os.environ),
    )
    before = [part() for part in state]
    encoder = PretrainedEncoder.load(str(folder))
    encoder.encode([["cat"] * 2000])
    with pytest.raises(InputError):
        PretrainedEncoder.load(str(folder / "config.json"))
    assert [part() for part in state] == before
    assert not bars
    assert capfd.readouterr() == ("", "")


# -- what is refused ------------------------------------------------------------------------------------------------


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path):
    error = refused(tmp_path / "nothing")
    assert str(error) == f"{tmp_path}/nothing: there is no such folder; {error.cure}"


@pytest.mark.parametrize("name", ["", "a b", "a/b/c", "x" * 5000, "~/model", "name@last"])
def test_what_can_be_no_name_of_the_hub_is_refused(name):
    assert "there is no such folder" in str(refused(name))


def test_a_file_is_refused(folder: Path):
    assert "is a file; give the folder" in str(refused(folder / "model.safetensors"))


@pytest.mark.parametrize(
    "error",
    [
        ConnectionError("[Errno -2] Name or service not known\nand much more"),
        huggingface_hub.errors.LocalEntryNotFoundError("no snapshot. Check the network."),
        RuntimeError(""),
    ],
)
def test_a_model_that_cannot_be_fetched_is_refused(error, monkeypatch: pytest.MonkeyPatch):
    def fail(*given: Any, **named: Any) -> str:
        raise error

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    text = str(refused("owner/name"))
    assert text.startswith("owner/name: there is no such folder, and it cannot be fetched from the Hugging Face hub (")
    assert "check the name, the network" in text


def test_a_name_of_the_hub_opens_what_was_fetched_and_no_pickle_is_fetched(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    asked = {}

    def fetch(name: str, **named: Any) -> str:
        asked.update(named, name=name)
        bar = named["tqdm_class"](total=3, desc="Downloading", bar_format="{l_bar}")
        bar.update(1)
        bar.close()
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetch)
    encoder = PretrainedEncoder.load("owner/tiny")
    assert encoder.name == "huggingface:owner/tiny@2"
    assert encoder.hash == PretrainedEncoder.load(str(folder)).hash
    assert asked["name"] == "owner/tiny"
    there = ["config.json", "model.safetensors", "pytorch_model.bin", "model.pt", "onnx/model.onnx", "spiece.model"]
    wanted = list(huggingface_hub.utils.filter_repo_objects(there, allow_patterns=asked["allow_patterns"]))
    assert wanted == ["config.json", "model.safetensors", "spiece.model"]


class Trap:
    """What runs when it is unpickled."""

    def __init__(self, sprung: Path):
        self.sprung = sprung

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.sprung,)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.safetensors"])
def test_a_pickle_is_never_opened(name, copy: Path, tmp_path: Path):
    (copy / "model.safetensors").unlink()
    (copy / name).write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    text = str(refused(copy))
    assert not (tmp_path / "sprung").exists()
    if name != "model.safetensors":
        assert "the weights are pickled, and opening a pickle can run anything; save the model as safetensors" in text


def test_a_pickle_beside_safetensors_is_passed_over(copy: Path, tmp_path: Path):
    (copy / "pytorch_model.bin").write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    assert PretrainedEncoder.load(str(copy)).encode([["cat"]])[0].known[0]
    assert not (tmp_path / "sprung").exists()


def test_code_that_comes_with_a_model_is_not_run(copy: Path, tmp_path: Path):
    (copy / "mine.py").write_text(f"from pathlib import Path\nPath({str(tmp_path / 'ran')!r}).touch()\n")
    change_json(copy / "config.json", model_type="mine", auto_map={"AutoConfig": "mine.C", "AutoModel": "mine.M"})
    assert "cannot be used" in str(refused(copy))
    assert not (tmp_path / "ran").exists()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def keep_weights(
    folder: Path, wanted: Callable[[str], bool], change: Callable[[Any], Any] = lambda weight: weight
) -> None:
    weights = load_file(folder / "model.safetensors")
    kept = {key: change(weight) for key, weight in weights.items() if wanted(key)}
    save_file(kept, folder / "model.safetensors", {"format": "pt"})


BROKEN: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no config": (lambda f: (f / "config.json").unlink(), "there is no config.json"),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "there is no model.safetensors"),
    "no tokenizer": (lambda f: [path.unlink() for path in f.glob("tokenizer*")], "there is no fast tokenizer"),
    "config cut": (lambda f: cut(f / "config.json"), "cannot be used"),
    "config empty": (lambda f: (f / "config.json").write_text(""), "cannot be used"),
    "config a list": (lambda f: (f / "config.json").write_text("[]"), "cannot be used"),
    "config of nothing": (lambda f: (f / "config.json").write_text("{}"), "cannot be used"),
    "config binary": (lambda f: (f / "config.json").write_bytes(b"\xff\xfe\x00"), "cannot be used"),
    "unknown kind": (lambda f: change_json(f / "config.json", model_type="nonesuch"), "cannot be used"),
    "odd sizes": (lambda f: change_json(f / "config.json", hidden_size=15), "cannot be used"),
    "other sizes": (lambda f: change_json(f / "config.json", hidden_size=32), "cannot be used"),
    "layers no number": (lambda f: change_json(f / "config.json", num_hidden_layers="four"), "cannot be used"),
    "no positions": (lambda f: change_json(f / "tokenizer_config.json", model_max_length=2), "no room for a word"),
    "weights cut": (lambda f: cut(f / "model.safetensors"), "cannot be used"),
    "weights empty": (lambda f: (f / "model.safetensors").write_bytes(b""), "cannot be used"),
    "weights no safetensors": (lambda f: (f / "model.safetensors").write_bytes(b"hello" * 99), "cannot be used"),
    "a shard is missing": (
        lambda f: [
            (f / "model.safetensors").rename(f / "model-00001-of-00002.safetensors"),
            (f / "model.safetensors.index.json").write_text(
                '{"metadata": {}, "weight_map": {"a": "model-00002-of-00002.safetensors"}}'
            ),
        ],
        "cannot be used",
    ),
    "weights missing": (
        lambda f: keep_weights(f, lambda key: "layer.1.attention.self.query.weight" not in key),
        "weights of layer 2 are missing or not numbers",
    ),
    "weights no numbers": (
        lambda f: keep_weights(f, lambda key: True, lambda weight: weight * torch.nan),
        "weights of layer 2 are missing or not numbers",
    ),
    "tokenizer cut": (lambda f: cut(f / "tokenizer.json"), "cannot be used"),
    "tokenizer of another model": (
        lambda f: bert_tokenizer_of(f, [*PIECES, "more", "pieces"]),
        f"the tokenizer has {len(PIECES) + 2} sub-words, the model {len(PIECES)}",
    ),
}


def bert_tokenizer_of(folder: Path, pieces: list[str]) -> None:
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    transformers.BertTokenizerFast(vocab=vocabulary).save_pretrained(folder)


@pytest.mark.parametrize(("damage", "says"), BROKEN.values(), ids=BROKEN)
def test_a_broken_model_is_refused_with_what_is_wrong(damage: Callable[[Path], Any], says, copy: Path):
    damage(copy)
    error = refused(copy)
    assert says in str(error)
    assert str(copy) in str(error.file)


@pytest.mark.parametrize("unused", ["pooler", "layer.2.", "layer.3."])
def test_weights_that_the_layer_does_not_need_may_be_missing(unused, folder: Path, copy: Path):
    keep_weights(copy, lambda key: unused not in key)
    randomness = torch.random.get_rng_state()
    found, expected = (PretrainedEncoder.load(str(path)).encode([["cat"]])[0].vectors for path in (copy, folder))
    assert found.tobytes() == expected.tobytes()
    assert torch.equal(torch.random.get_rng_state(), randomness)


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_a_package_that_is_not_installed_is_named_with_its_extra(package, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, package, None)
    for module in [name for name in sys.modules if name.startswith(f"{package}.")]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf'needs {package}; .*pip install "polyref\[huggingface\]"'):
        PretrainedEncoder.load("bert-base-uncased")
