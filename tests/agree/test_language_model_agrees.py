"""The encoder without torch agrees with a second reader of its folder, and with torch."""

from pathlib import Path

import numpy as np
import pytest
from lstm_by_hand import ByHand
from small_encoders import WORDS, drawn_text, open_small, write_encoder

from polyref.encode.context import ContextEncoder

# With words outside the vocabulary, one of them a single letter, and words that are known in lower case only.
SENTENCES = [
    ["the", "cat", "sits", "on", "a", "red", "chair", "."],
    ["The", "Cat", "SITS"],
    ["x"],
    [],
    ["zebra", "café", "the", "zebras", ",", "internationalization"],
    ["a", "b", "c", "the", "dog"] * 5,
]
FULL, ADAPTIVE = None, [4, 11]


def worst(pairs: list[tuple[np.ndarray, np.ndarray]]) -> float:
    for ours, theirs in pairs:
        assert ours.shape == theirs.shape
    return max(float(np.abs(ours - theirs).max()) for ours, theirs in pairs if ours.size)


@pytest.mark.parametrize("seed", range(4))
def test_states_are_those_of_a_second_reader(tmp_path: Path, seed):
    folder = write_encoder(tmp_path, seed=seed, states=12)
    ours, theirs = open_small(folder).states(SENTENCES), [ByHand(folder).states(words) for words in SENTENCES]
    assert worst([pair for both in zip(ours, theirs, strict=True) for pair in zip(*both, strict=True)]) < 2e-3


@pytest.mark.parametrize("cutoffs", [FULL, ADAPTIVE], ids=["full", "adaptive"])
@pytest.mark.parametrize("predicted", [len(WORDS), len(WORDS) - 6])
def test_probabilities_are_those_of_a_second_reader(tmp_path: Path, cutoffs, predicted):
    folder = write_encoder(tmp_path, cutoffs=cutoffs, predicted=predicted)
    ours = open_small(folder).log_probabilities(SENTENCES)
    theirs = [np.array(ByHand(folder).log_probabilities(words)) for words in SENTENCES]
    assert worst(list(zip(ours, theirs, strict=True))) < 0.02


@pytest.mark.parametrize("cutoffs", [FULL, ADAPTIVE], ids=["full", "adaptive"])
def test_the_probabilities_in_a_place_sum_to_one(tmp_path: Path, cutoffs):
    """Each word that can be predicted is put into the same place, and a word that cannot."""
    folder = write_encoder(tmp_path, cutoffs=cutoffs)
    variants = [["the", word, "sits"] for word in [*WORDS, "zebra"]]
    total = sum(np.exp(values[1]) for values in open_small(folder).log_probabilities(variants))
    assert total == pytest.approx(1, abs=1e-5)
    assert sum(ByHand(folder).distribution(np.ones(16))) == pytest.approx(1)


def test_all_words_that_cannot_be_predicted_are_one(tmp_path: Path):
    folder = write_encoder(tmp_path, predicted=5)
    readable, zebra = open_small(folder).log_probabilities([["the", "window"], ["the", "zebra"]])
    assert readable[1] == zebra[1]
    assert readable[0] != zebra[0]


STATES, SIZE = 256, 100


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory):
    """A model of a real size, trained until its weights are no longer those it began with, and its encoder."""
    torch = pytest.importorskip("torch")
    from polyref.encode.context import Vocabulary, write_folder
    from polyref.encode.corpus import ModelSettings
    from polyref.encode.language_model import LanguageModel, exported

    words = [*WORDS, *(f"word{k}" for k in range(200))]
    outside = ["zebra", "café", "internationalization", "x"]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        settings = ModelSettings(SIZE, STATES, buckets=512, dropout=0.0)
        vocabulary = Vocabulary(tuple(words), 100)
        model = LanguageModel(settings, vocabulary, [*words, *outside])
        optimiser = torch.optim.AdamW([weight for weight in model.parameters() if weight.requires_grad], lr=5e-3)
        for _ in range(12):
            cost, items = model.cost(torch.randint(0, 40, (12, 20)).sort(1).values)
            optimiser.zero_grad()
            (cost / items).backward()
            optimiser.step()
    folder = tmp_path_factory.mktemp("trained")
    config = {
        "vector_size": SIZE,
        "state_size": STATES,
        "buckets": settings.buckets,
        "cutoffs": None,
        "word_share": 0.0,
        "baseline": 0.0,
    }
    write_folder(folder, config, vocabulary, exported(model))
    return model.eval(), folder, [*words, *outside]


def rounded_twin(model, folder: Path):
    """The same model in torch, with the weights that the folder holds."""
    from copy import deepcopy

    import torch
    from safetensors.torch import load_file

    arrays = {name: array.float() for name, array in load_file(folder / "weights.safetensors").items()}
    content = {name: arrays[name] for name in ("vectors", "boundary", "pieces")}
    for ours, theirs in (("forward", "forwards"), ("backward", "backwards")):
        content[f"{theirs}.weight_ih_l0"] = arrays[f"{ours}.read"]
        content[f"{theirs}.weight_hh_l0"] = arrays[f"{ours}.state"]
        content[f"{theirs}.bias_ih_l0"] = arrays[f"{ours}.bias"]
        content[f"{theirs}.bias_hh_l0"] = torch.zeros_like(arrays[f"{ours}.bias"])
    for name in ("projection.weight", "projection.bias", "output.weight", "output.bias"):
        content[name] = arrays[name]
    twin = deepcopy(model)
    twin.load_state_dict(content)
    return twin


def test_states_of_a_real_size_are_those_of_torch(trained):
    torch = pytest.importorskip("torch")
    model, folder, words = trained
    encoder = ContextEncoder.load(str(folder))
    twin = rounded_twin(model, folder)
    rng = np.random.default_rng(5)
    numbers = [rng.integers(0, len(words), length) for length in (1, 2, 7, 40, 40, 33)]
    ours = encoder.states([[words[k] for k in sentence] for sentence in numbers])
    pairs = []
    for sentence, both in zip(numbers, ours, strict=True):
        with torch.inference_mode():
            theirs = twin.states(torch.from_numpy(sentence)[None])
        pairs += [(mine, other[0].numpy()) for mine, other in zip(both, theirs, strict=True)]
    assert max(np.abs(mine).max() for mine, _ in pairs) > 0.5, "weights this small prove little"
    # One rounding alone is up to half of 2**-12, and on average half of that; the recurrence carries it on.
    assert worst(pairs) < 2.5e-3
    assert np.mean([np.abs(mine - other).mean() for mine, other in pairs]) < 0.3e-3


def test_the_cost_of_a_text_is_the_one_that_torch_trained_with(trained):
    torch = pytest.importorskip("torch")
    model, folder, words = trained
    rows = np.random.default_rng(6).integers(0, len(words), (5, 9))
    with torch.inference_mode():
        cost, _ = model.cost(torch.from_numpy(rows))
    ours = ContextEncoder.load(str(folder)).log_probabilities([[words[k] for k in row] for row in rows])
    assert -sum(values.sum() for values in ours) / rows.size == pytest.approx(float(cost) / rows.size, abs=0.02)


def test_a_second_reader_agrees_with_weights_of_a_real_size(trained):
    _, folder, words = trained
    sentence = [words[k] for k in np.random.default_rng(7).integers(0, len(words), 12)]
    ours, theirs = ContextEncoder.load(str(folder)).states([sentence])[0], ByHand(folder).states(sentence)
    assert worst(list(zip(ours, theirs, strict=True))) < 2e-3


def test_what_torch_predicts_does_not_depend_on_the_word_in_the_place(trained):
    """Word i is predicted from the states on its two sides, neither of which has read it."""
    torch = pytest.importorskip("torch")
    model, _, _ = trained
    rows = torch.tensor([[3, 4, 5, 6, 7], [3, 4, 9, 6, 7]])
    with torch.inference_mode():
        one, other = model.predictions(rows)
    assert torch.equal(one[2], other[2])
    for place in (0, 1, 3, 4):
        assert not torch.allclose(one[place], other[place], atol=1e-4)


def test_text_of_drawn_words_is_what_it_says():
    lines = drawn_text(WORDS, 20).splitlines()
    assert len(lines) == 20
    assert set(" ".join(lines).split()) <= set(WORDS)
