"""Training a language model on a few captions, and what is kept of it."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_encoders import GERMAN, WORDS, caption_text, drawn_text

torch = pytest.importorskip("torch")

from polyref.encode import training, unrelated_sentences  # noqa: E402
from polyref.encode.context import ContextEncoder, Vocabulary, pieces, read_folder  # noqa: E402
from polyref.encode.corpus import (  # noqa: E402
    ModelSettings,
    TrainingText,
    TrainSettings,
    is_held_out,
    read_corpus,
    read_sentences,
    text_hash,
)
from polyref.encode.language_model import LanguageModel, adaptive_cutoffs, exported, learn_spelling  # noqa: E402
from polyref.encode.training import train_encoder  # noqa: E402
from polyref.encode.vectors import WordVectors  # noqa: E402
from polyref.errors import InputError, OutputError, PolyrefError, SettingsError  # noqa: E402
from polyref.files import taken  # noqa: E402
from polyref.fit import Decay, FitSettings  # noqa: E402
from polyref.text import TextSettings  # noqa: E402

MODEL = ModelSettings(vector_size=16, state_size=12, buckets=64, dropout=0.1)
FIT = FitSettings(epochs=2, learning_rate=0.02, save_every=5)
SETTINGS = TrainSettings(cutoff=1, words_at_once=64, held_out=0.2, model=MODEL, fit=FIT)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here need outlive the machine, and two threads only wait for each other."""
    monkeypatch.setattr("os.fsync", lambda handle: None)
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("text") / "captions.txt"
    path.write_text(caption_text(40))
    return str(path)


def weights_in(folder: Path) -> bytes:
    return (folder / "weights.safetensors").read_bytes()


def settings_with(**choices: Any) -> TrainSettings:
    """Some go to the model, some to the loop."""
    for_model = {name: choices.pop(name) for name in list(choices) if hasattr(MODEL, name)}
    for_fit = {name: choices.pop(name) for name in list(choices) if hasattr(FIT, name)}
    return replace(SETTINGS, model=replace(MODEL, **for_model), fit=replace(FIT, **for_fit), **choices)


def model_of(words: list[str]) -> LanguageModel:
    return LanguageModel(MODEL, Vocabulary(tuple(words), len(words)), words)


def sentences_of(text: TrainingText) -> Counter[tuple[str, ...]]:
    return Counter(tuple(text.words[k] for k in row) for rows in text.by_length.values() for row in rows.tolist())


@pytest.fixture(scope="module")
def trained(text: str, tmp_path_factory: pytest.TempPathFactory) -> ContextEncoder:
    folder = tmp_path_factory.mktemp("trained") / "encoder"
    return train_encoder([text], folder, settings_with(epochs=12))


# What is learned


def test_perplexity_falls(trained: ContextEncoder):
    found = trained.config["training"]["perplexity_by_epoch"]
    assert len(found) == trained.config["training"]["epochs"] <= 12
    assert min(found) < 0.6 * found[0] < 0.6 * (trained.config["predicted"] + 1)
    assert trained.config["perplexity"] == pytest.approx(min(found), abs=1e-3)


def test_the_perplexity_is_that_of_the_held_out_sentences_by_the_encoder_itself(trained: ContextEncoder, text: str):
    """The encoder's own probabilities, computed without torch on rounded weights."""
    held_out = [s for s in read_sentences([text], "references", TextSettings()) if is_held_out(s, SETTINGS.held_out)]
    values = np.concatenate(trained.log_probabilities(held_out))
    assert len(values) == trained.config["training"]["validation_words"]
    assert math.exp(-values.mean()) == pytest.approx(trained.config["perplexity"], rel=0.01)


def test_a_sentence_like_the_text_is_more_fluent_than_its_words_in_disorder(trained: ContextEncoder):
    fluent, disorder = trained.fluency(
        [text.split() for text in ("the old man sits near the park", "near old park the sits man the")]
    )
    assert fluent > disorder + 0.5


def test_the_centre_is_the_mean_over_the_text(trained: ContextEncoder, text: str):
    sentences = [s for s in read_sentences([text], "references", TextSettings()) if not is_held_out(s, 0.2)]
    states = trained.states(sentences)
    weights = trained._weights
    forward = np.concatenate([forward[1:] for forward, _ in states]).mean(0, dtype=np.float64)
    backward = np.concatenate([backward[:-1] for _, backward in states]).mean(0, dtype=np.float64)
    assert np.abs(weights["centre.states"] - np.stack([forward, backward])).max() <= 2**-11 + 1e-6
    own = trained.word_vectors([word for sentence in sentences for word in sentence]).mean(0, dtype=np.float64)
    assert np.abs(weights["centre.own"] - own).max() <= 2**-12 + 1e-6


def test_the_best_weights_are_kept_not_the_last(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The second epoch is told to be the best of three; an encoder of two epochs is the same."""
    told = iter([5.0, 3.0, 4.0])
    with monkeypatch.context() as patch:
        patch.setattr(training, "perplexity", lambda model, text: next(told))
        train_encoder([text], tmp_path / "three", settings_with(epochs=3, decay=Decay(1.0)))
    train_encoder([text], tmp_path / "two", settings_with(epochs=2, decay=Decay(1.0)))
    assert weights_in(tmp_path / "three") == weights_in(tmp_path / "two")
    assert json.loads((tmp_path / "three" / "config.json").read_text())["training"]["best_epoch"] == 2


@pytest.mark.parametrize("softmax", ["full", "adaptive"])
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(text: str, tmp_path: Path, softmax):
    for name, seed in (("one", 1), ("same", 1), ("other", 2)):
        train_encoder([text], tmp_path / name, settings_with(seed=seed, softmax=softmax))
    assert weights_in(tmp_path / "one") == weights_in(tmp_path / "same")
    assert weights_in(tmp_path / "one") != weights_in(tmp_path / "other")
    assert (tmp_path / "one" / "config.json").read_bytes() == (tmp_path / "same" / "config.json").read_bytes()


def test_training_does_not_touch_the_randomness_of_its_caller(text: str, tmp_path: Path):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train_encoder([text], tmp_path / "encoder", settings_with(epochs=1))
    assert torch.equal(torch.rand(3), expected)


def test_an_adaptive_softmax_learns_as_well(text: str, tmp_path: Path):
    encoder = train_encoder([text], tmp_path / "encoder", settings_with(epochs=8, softmax="adaptive"))
    found = encoder.config["training"]["perplexity_by_epoch"]
    assert found[-1] < 0.7 * found[0]
    assert encoder.config["cutoffs"] == adaptive_cutoffs(encoder.config["predicted"] + 1)
    assert all(value < 0 for value in encoder.fluency([["a", "man"], ["zebra", "a"]]))


@pytest.mark.parametrize("words", range(2, 40))
def test_clusters_leave_a_word_in_each(words):
    cutoffs = adaptive_cutoffs(words)
    assert cutoffs == sorted(set(cutoffs))
    assert all(0 < cutoff < words for cutoff in cutoffs)
    torch.nn.AdaptiveLogSoftmaxWithLoss(16, words, cutoffs)


# What is trained on


def rows_that_train(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **choices: Any
) -> list[tuple[int, ...]]:
    """All sentences whose cost was taken while the model was training, as numbers."""
    seen: list[tuple[int, ...]] = []
    cost = LanguageModel.cost

    def noted(self: LanguageModel, words: torch.Tensor) -> tuple[torch.Tensor, int]:
        if self.training:
            seen.extend(map(tuple, words.tolist()))
        return cost(self, words)

    monkeypatch.setattr(LanguageModel, "cost", noted)
    train_encoder([text], tmp_path / "encoder", settings_with(**choices.pop("settings", {})), **choices)
    return seen


def test_each_sentence_is_trained_on_once_an_epoch_and_held_out_ones_never(text: str, tmp_path: Path, monkeypatch):
    seen = rows_that_train(text, tmp_path, monkeypatch, settings={"epochs": 3})
    corpus = read_corpus([text], [], SETTINGS, None)
    words = corpus.training.words
    found = Counter(tuple(words[k] for k in row) for row in seen)
    assert found == Counter(dict.fromkeys(sentences_of(corpus.training), 3))
    held_out = sentences_of(corpus.validation)
    assert held_out and not held_out.keys() & found.keys()
    assert set(held_out) | set(found) == set(read_sentences([text], "references", TextSettings()))
    assert all(is_held_out(sentence, 0.2) for sentence in held_out)


def test_the_order_is_another_in_each_epoch(text: str, tmp_path: Path, monkeypatch):
    seen = rows_that_train(text, tmp_path, monkeypatch)
    half = len(seen) // 2
    assert sorted(seen[:half]) == sorted(seen[half:])
    assert seen[:half] != seen[half:]


def test_sentences_of_another_file_are_left_out_altogether(text: str, tmp_path: Path, monkeypatch):
    lines = Path(text).read_text().splitlines()
    (tmp_path / "test.txt").write_text("".join(f"  {line.upper()}\n" for line in lines[::3]))
    corpus = read_corpus([text], [str(tmp_path / "test.txt")], SETTINGS, None)
    left = {tuple(line.split()) for line in lines} - {tuple(line.split()) for line in lines[::3]}
    assert set(sentences_of(corpus.training)) | set(sentences_of(corpus.validation)) == left
    seen = rows_that_train(text, tmp_path, monkeypatch, without=[str(tmp_path / "test.txt")])
    assert {tuple(corpus.training.words[k] for k in row) for row in seen} == set(sentences_of(corpus.training))


def write_examples(path: Path, count: int, first: int = 0) -> str:
    records = [
        {"source": f"source {k} of many", "references": [f"first reference {k}", f"second reference {k}"]}
        for k in range(first, first + count)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


@pytest.mark.parametrize(
    ("use", "kinds"),
    [("references", {"first", "second"}), ("source", {"source"}), ("both", {"first", "second", "source"})],
)
def test_what_is_used_is_also_what_another_file_leaves_out(tmp_path: Path, use, kinds):
    """Sources of the test set are not trained on either."""
    everything, tested = write_examples(tmp_path / "all.jsonl", 60), write_examples(tmp_path / "test.jsonl", 20)
    settings = replace(SETTINGS, use=use)
    corpus = read_corpus([everything], [tested], settings, None)
    found = set(sentences_of(corpus.training)) | set(sentences_of(corpus.validation))
    assert {sentence[0] for sentence in found} == kinds
    assert len(found) == 40 * len(kinds)
    tested_words = {str(k) for k in range(20)}
    assert not any(tested_words & set(sentence) for sentence in found)


def test_the_same_sentences_are_held_out_whatever_else_is_in_the_text(tmp_path: Path):
    lines = drawn_text(WORDS, 300).splitlines()
    for name, some in (("all", lines), ("reversed", lines[::-1]), ("some", lines[50:200])):
        (tmp_path / f"{name}.txt").write_text("\n".join(some))
    held_out = {
        name: set(sentences_of(read_corpus([str(tmp_path / f"{name}.txt")], [], SETTINGS, None).validation))
        for name in ("all", "reversed", "some")
    }
    assert held_out["all"] == held_out["reversed"] > held_out["some"]
    assert 0.1 < len(held_out["all"]) / len(set(lines)) < 0.3


def test_no_word_of_the_vocabulary_is_from_held_out_sentences_alone(tmp_path: Path):
    sentences = [(f"only{k}", "a", "cat") for k in range(200)]
    (tmp_path / "text.txt").write_text("".join(" ".join(sentence) + "\n" for sentence in sentences))
    corpus = read_corpus([str(tmp_path / "text.txt")], [], SETTINGS, None)
    held_out = {sentence[0] for sentence in sentences if is_held_out(sentence, 0.2)}
    assert held_out and not held_out & set(corpus.vocabulary.words)


@pytest.mark.parametrize("cutoff", [1, 2, 5, 30])
def test_words_that_occur_less_often_than_the_cut_off_are_not_predicted(text: str, cutoff):
    corpus = read_corpus([text], [], replace(SETTINGS, cutoff=cutoff), None)
    counts = Counter(word for sentence in sentences_of(corpus.training) for word in sentence)
    assert set(corpus.vocabulary.words) == {word for word in counts if counts[word] >= cutoff}
    assert len(corpus.vocabulary.words) == corpus.vocabulary.predicted


def test_words_below_the_cut_off_are_read_by_their_spelling_and_predicted_as_one(text: str, tmp_path: Path):
    encoder = train_encoder([text], tmp_path / "encoder", replace(settings_with(epochs=1), cutoff=30))
    assert not encoder.encode([["young"]])[0].known[0]
    one, other = encoder.log_probabilities([["the", "young"], ["the", "zebra"]])
    assert one[1] == other[1]


def test_a_sentence_is_taken_once_however_often_it_is_there(tmp_path: Path):
    (tmp_path / "text.txt").write_text("A cat sits.\na cat sits .\n\n   \nA CAT SITS.\nanother one\n")
    found = read_sentences([str(tmp_path / "text.txt")], "references", TextSettings())
    assert list(found) == [("a", "cat", "sits", "."), ("another", "one")]


def test_a_very_long_sentence_comes_in_pieces(tmp_path: Path):
    (tmp_path / "text.txt").write_text(" ".join(f"w{k}" for k in range(250)))
    found = read_sentences([str(tmp_path / "text.txt")], "references", TextSettings())
    assert [len(sentence) for sentence in found] == [100, 100, 50]
    assert [word for sentence in found for word in sentence] == [f"w{k}" for k in range(250)]


def test_a_line_of_megabytes_is_no_fault(tmp_path: Path):
    (tmp_path / "text.txt").write_text("x" + "é" * 1_000_000 + "\nschön\n", "utf-8")
    found = read_sentences([str(tmp_path / "text.txt")], "references", TextSettings())
    assert ("schön",) in found


def test_compressed_text_and_a_byte_order_mark_are_read(tmp_path: Path):
    import gzip

    (tmp_path / "text.txt.gz").write_bytes(gzip.compress("\ufeffa cat\n".encode()))
    assert list(read_sentences([str(tmp_path / "text.txt.gz")], "references", TextSettings())) == [("a", "cat")]


def test_batches_hold_each_sentence_once_and_one_length_each():
    sentences = [["a"] * length for length in (1, 2, 3)] * 50
    corpus = TrainingText.of(
        [[*sentence, str(k)] for k, sentence in enumerate(sentences)], ["a", *map(str, range(150))]
    )
    assert corpus.tokens == sum(map(len, sentences)) + 150
    for order in (None, np.random.default_rng(1)):
        found = corpus.batches(20, order)
        assert sorted(row[-1] for rows in found for row in rows.tolist()) == list(range(1, 151))
        assert all(rows.size <= 20 for rows in found)
    one, other = (corpus.batches(20, np.random.default_rng(seed)) for seed in (1, 2))
    assert [rows.tolist() for rows in one] != [rows.tolist() for rows in other]


def test_the_hash_of_a_text_does_not_depend_on_the_order_of_its_sentences():
    assert text_hash([("a", "b"), ("c",)]) == text_hash([("c",), ("a", "b")]) != text_hash([("a", "b")])


# Starting from vectors


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The same table as npz and as GloVe text: some words of the captions, some others, one with a space."""
    folder = tmp_path_factory.mktemp("table")
    words = ["the", "emu", "man", "new york", "cat", "ostrich", "sits", "a\u0085b"]
    vectors = np.random.default_rng(3).normal(size=(len(words), 16)).astype(np.float16).astype(np.float32)
    np.savez(folder / "table.npz", words=np.array(words), vectors=vectors)
    rows = [" ".join([word, *(repr(float(x)) for x in row)]) for word, row in zip(words, vectors, strict=True)]
    (folder / "table.txt").write_text("\n".join(rows) + "\n", "utf-8")
    return {"npz": str(folder / "table.npz"), "text": str(folder / "table.txt")}


def table_rows(encoder: ContextEncoder, table: str) -> tuple[np.ndarray, np.ndarray]:
    """What the encoder reads for words of the table, and what the table has for them."""
    words = ["the", "man", "cat", "sits", "emu", "ostrich"]
    return encoder.word_vectors(words), WordVectors.load(table).encode([words])[0].vectors.astype(np.float64)


def test_frozen_vectors_stay_as_they_are(text: str, table, tmp_path: Path):
    encoder = train_encoder([text], tmp_path / "encoder", settings_with(freeze=True), vectors=table["npz"])
    ours, theirs = table_rows(encoder, table["npz"])
    assert np.abs(ours - theirs / np.linalg.norm(theirs, axis=1, keepdims=True)).max() <= 2**-12 + 1e-9


def test_vectors_that_are_not_frozen_move(text: str, table, tmp_path: Path):
    encoder = train_encoder([text], tmp_path / "encoder", settings_with(epochs=3), vectors=table["npz"])
    ours, theirs = table_rows(encoder, table["npz"])
    cosines = (ours * theirs).sum(1)
    assert (cosines[:4] < 0.999).all()  # these are in the text
    assert (cosines[4:] > 0.999).all()  # these are not, so nothing moves them
    assert (cosines > 0.3).all()  # and all began there


def test_a_table_may_be_npz_or_text(text: str, table, tmp_path: Path):
    for kind, path in table.items():
        train_encoder([text], tmp_path / kind, settings_with(epochs=1), vectors=path)
    assert weights_in(tmp_path / "npz") == weights_in(tmp_path / "text")


def test_words_of_the_table_can_be_read_and_are_not_predicted(text: str, table, tmp_path: Path):
    encoder = train_encoder([text], tmp_path / "encoder", settings_with(epochs=1), vectors=table["npz"])
    vocabulary = read_folder(tmp_path / "encoder").vocabulary
    assert {"emu", "ostrich"} == set(vocabulary.words[vocabulary.predicted :])
    assert encoder.encode([["emu", "zebra"]])[0].known.tolist() == [True, False]
    assert encoder.config["training"]["vectors_hash"] == WordVectors.load(table["npz"]).hash


def test_words_of_the_text_come_first_where_few_can_be_read(text: str, table):
    settings = replace(SETTINGS, cutoff=1000, readable=4)
    with pytest.raises(InputError, match="no word occurs 1000 times; give more text, or a lower cut-off"):
        read_corpus([text], [], settings, WordVectors.load(table["npz"]))
    corpus = read_corpus([text], [], replace(settings, cutoff=40), WordVectors.load(table["npz"]))
    behind = corpus.vocabulary.words[corpus.vocabulary.predicted :]
    assert len(corpus.vocabulary.words) == max(4, corpus.vocabulary.predicted)
    assert not {"emu", "ostrich"} & set(behind) or {"cat", "sits"} <= set(corpus.vocabulary.words)


def test_the_vectors_are_as_long_as_those_of_the_table(text: str, table, tmp_path: Path):
    encoder = train_encoder([text], tmp_path / "encoder", settings_with(epochs=1, vector_size=50), vectors=table["npz"])
    assert encoder.config["vector_size"] == 16


def test_words_that_the_table_lacks_start_from_their_spelling(text: str, tmp_path: Path):
    """The pieces learn the table first; so a word that is spelled like one of it starts nearer to it than to others."""
    stems = ["running", "swimming", "elephant", "telephone", "kitchen", "mountain"]
    rng = np.random.default_rng(4)
    np.savez(tmp_path / "table.npz", words=np.array(stems), vectors=rng.normal(size=(6, 16)))
    lines = [f"{stem}{end} {other}" for stem in stems for end in ("", "s") for other in stems]
    (tmp_path / "text.txt").write_text("\n".join(lines))
    table = WordVectors.load(str(tmp_path / "table.npz"))
    settings = settings_with(buckets=2048)
    corpus = read_corpus([str(tmp_path / "text.txt")], [], settings, table)
    model = training.make_model(corpus, settings, table)
    row = corpus.vocabulary.row
    vectors = model.vectors.detach()
    for stem in stems:
        near = float(vectors[row[stem]] @ vectors[row[f"{stem}s"]])
        assert near > max(float(vectors[row[other]] @ vectors[row[f"{stem}s"]]) for other in stems if other != stem)


def test_learning_to_spell_brings_the_pieces_near_to_their_words():
    words = [f"word{k}" for k in range(30)]
    torch.manual_seed(1)
    model = model_of(words)

    def nearness(rounds: int) -> float:
        learn_spelling(model, 0, rounds=rounds)
        return float(torch.cosine_similarity(model.spelled(torch.arange(30)), model.vectors).mean().detach())

    before, short, long = (nearness(rounds) for rounds in (0, 1, 60))
    assert before < short < long - 0.1


def test_spellings_are_the_means_of_their_pieces():
    words = ["cat", "internationalization", "a", "dog"]
    model = model_of(words)
    found = model.spelled(torch.tensor([1, 3, 1, 0, 2])).detach()
    for row, word in zip(found, ["internationalization", "dog", "internationalization", "cat", "a"], strict=True):
        assert torch.allclose(row, model.pieces.detach()[list(pieces(word, 64))].mean(0), atol=1e-6)


def test_vectors_cannot_be_frozen_where_there_are_none(text: str, tmp_path: Path):
    with pytest.raises(SettingsError, match="there are no vectors to freeze; give a table of vectors"):
        train_encoder([text], tmp_path / "encoder", settings_with(freeze=True))
    assert not (tmp_path / "encoder").exists()


# The folder that is left


def test_a_finished_folder_holds_three_files(trained: ContextEncoder):
    folder = Path(trained.name)
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "vocabulary.txt", "weights.safetensors"]
    assert ContextEncoder.load(trained.name).hash == trained.hash
    assert json.loads((folder / "config.json").read_text())["training"]["sentences"] > 50


def test_a_finished_folder_is_not_trained_into(trained: ContextEncoder, text: str, tmp_path: Path):
    before = digest_of(Path(trained.name))
    other = tmp_path / "other.txt"
    other.write_text(Path(text).read_text() + "a tall dog waits at the old park\n")
    refused = "holds a finished encoder with other settings or other text; give another folder, or delete it"
    for given, settings in ((text, SETTINGS), (str(other), settings_with(epochs=12))):
        with pytest.raises(SettingsError, match=refused):
            train_encoder([given], trained.name, settings)
    assert digest_of(Path(trained.name)) == before


@pytest.mark.parametrize("choices", [{}, {"save_every": 7}])
def test_a_run_that_is_finished_is_only_opened(trained: ContextEncoder, text: str, choices):
    """Also where it was killed before its checkpoints were gone."""
    before, folder = digest_of(Path(trained.name)), Path(trained.name)
    (folder / "training" / "checkpoints").mkdir(parents=True)
    again = train_encoder([text], trained.name, settings_with(epochs=12, **choices), on_start=stop)
    assert again.hash == trained.hash
    assert digest_of(folder) == before
    assert not (folder / "training").exists()


def test_one_run_at_a_time_trains_in_a_folder(text: str, tmp_path: Path):
    folder = tmp_path / "encoder"
    folder.mkdir()
    with taken(folder), pytest.raises(OutputError, match="another run trains in this folder; wait until it ends"):
        train_encoder([text], folder, SETTINGS)
    assert list(folder.iterdir()) == []
    train_encoder([text], folder, SETTINGS)


def digest_of(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


class StoppedError(Exception):
    pass


def stop(*_: object) -> None:
    raise StoppedError


def stopped_run(text: str, folder: Path, settings: TrainSettings = SETTINGS) -> Path:
    def on_step(step: Any, batches: int) -> None:
        if step.updates == 8:
            raise StoppedError

    with pytest.raises(StoppedError):
        train_encoder([text], folder, settings, on_step=on_step)
    return folder


@pytest.mark.parametrize(
    "other",
    [{"seed": 9}, {"dropout": 0.2}, {"state_size": 13}, {"words_at_once": 65}, {"held_out": 0.3}, {"cutoff": 2}],
)
def test_another_run_in_the_folder_is_refused_and_nothing_is_lost(text: str, tmp_path: Path, other):
    before = digest_of(stopped_run(text, tmp_path / "encoder"))
    with pytest.raises(SettingsError, match="holds a run with other settings or other data"):
        train_encoder([text], tmp_path / "encoder", settings_with(**other))
    assert digest_of(tmp_path / "encoder") == before


def test_a_run_on_other_text_in_the_folder_is_refused_and_nothing_is_lost(text: str, tmp_path: Path):
    before = digest_of(stopped_run(text, tmp_path / "encoder"))
    (tmp_path / "other.txt").write_text(Path(text).read_text() + "a tall dog waits at the old park\n")
    with pytest.raises(SettingsError, match="holds a run with other settings or other data"):
        train_encoder([str(tmp_path / "other.txt")], tmp_path / "encoder", SETTINGS)
    assert digest_of(tmp_path / "encoder") == before


@pytest.mark.parametrize("last", ["measure_baseline", "write_folder"])
def test_a_run_that_ends_before_the_very_end_can_go_on(text: str, tmp_path: Path, monkeypatch, last):
    """Training is through, the folder is not: it must not be taken for a finished encoder."""
    with monkeypatch.context() as patch:
        patch.setattr(training, last, stop)
        with pytest.raises(StoppedError):
            train_encoder([text], tmp_path / "stopped", SETTINGS)
    assert not (tmp_path / "stopped" / "config.json").exists()
    train_encoder([text], tmp_path / "stopped", SETTINGS)
    train_encoder([text], tmp_path / "whole", SETTINGS)
    assert digest_of(tmp_path / "stopped") == digest_of(tmp_path / "whole")


def test_a_folder_in_the_place_of_a_file_is_named(text: str, tmp_path: Path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(OutputError, match=r"file: cannot be written \(.+\); give another folder"):
        train_encoder([text], tmp_path / "file", SETTINGS)
    assert (tmp_path / "file").read_text() == "not a folder"


# Its baseline


def test_the_baseline_of_an_encoder_for_other_text_is_measured_on_its_own(tmp_path: Path):
    """An encoder of German knows no English but the full stops, and those say nothing."""
    (tmp_path / "text.txt").write_text("".join(f"{line} .\n" for line in drawn_text(GERMAN, 250).splitlines()))
    encoder = train_encoder([str(tmp_path / "text.txt")], tmp_path / "encoder", SETTINGS)
    sentences = list(read_sentences([str(tmp_path / "text.txt")], "references", TextSettings()))
    assert encoder.baseline == pytest.approx(training.measure_baseline(encoder, sentences[:150]), abs=0.1)
    assert training.measure_baseline(encoder, unrelated_sentences()) > encoder.baseline + 0.2


def test_an_encoder_of_a_few_words_has_a_baseline_all_the_same(tmp_path: Path):
    lines = [f"{one} {other}" for one in ("ja", "nein") for other in ("gut", "schlecht", "so")]
    (tmp_path / "text.txt").write_text("\n".join(lines))
    encoder = train_encoder([str(tmp_path / "text.txt")], tmp_path / "encoder", replace(SETTINGS, held_out=0.5))
    assert encoder.baseline == 0.0


def test_an_encoder_that_knows_the_sample_text_measures_its_baseline_there(tmp_path: Path):
    lines = [" ".join(sentence) for sentence in unrelated_sentences()]
    (tmp_path / "text.txt").write_text("\n".join(lines))
    encoder = train_encoder([str(tmp_path / "text.txt")], tmp_path / "encoder", settings_with(epochs=1))
    assert encoder.baseline == training.measure_baseline(encoder, unrelated_sentences())


# What goes wrong


@pytest.mark.parametrize(
    ("choice", "value", "said"),
    [
        ("cutoff", 0, "cutoff is 0; give a whole number, 1 or more"),
        ("readable", 0, "readable is 0; give a whole number, 1 or more"),
        ("words_at_once", 0, "words_at_once is 0; give a whole number, 1 or more"),
        ("held_out", 0.0, "held_out is 0.0; give a number above 0 and at most 0.5"),
        ("held_out", 0.6, "held_out is 0.6"),
        ("held_out", math.nan, "held_out is nan"),
        ("vector_size", 0, "vector_size is 0; give a whole number from 1"),
        ("state_size", 2_000_000, "state_size is 2000000; give a whole number from 1 to 1,000,000"),
        ("dropout", 1.0, "dropout is 1.0; give a number from 0 to less than 1"),
        ("dropout", math.nan, "dropout is nan"),
        ("spelled", -0.1, "spelled is -0.1"),
        ("softmax", "soft", 'softmax is "soft"; choose one of full, adaptive'),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(choice, value, said):
    with pytest.raises(SettingsError, match=said):
        settings_with(**{choice: value})


def test_an_adaptive_softmax_needs_vectors_that_can_be_made_smaller():
    with pytest.raises(SettingsError, match="vector_size is 15; the adaptive softmax needs 16 or more"):
        ModelSettings(vector_size=15, softmax="adaptive")


def test_text_of_one_word_trains_with_either_softmax(tmp_path: Path):
    (tmp_path / "text.txt").write_text("".join("a " * k + "\n" for k in range(1, 30)))
    for softmax in ("full", "adaptive"):
        encoder = train_encoder([str(tmp_path / "text.txt")], tmp_path / softmax, settings_with(softmax=softmax))
        assert encoder.config["predicted"] == 1
        assert encoder.fluency([["a", "zebra"]])[0] < 0


def test_weights_that_grow_beyond_all_bounds_are_refused():
    model = model_of(["a", "b", "c", "d"])
    assert exported(model)
    for value in (1e5, math.inf, math.nan):
        with torch.no_grad():
            model.projection.bias[3] = value
        with pytest.raises(PolyrefError, match="the weights have grown beyond all bounds; train again with a lower"):
            exported(model)


def test_a_perplexity_beyond_all_numbers_is_a_large_one(text: str):
    corpus = read_corpus([text], [], SETTINGS, None)
    model = training.make_model(corpus, SETTINGS, None).eval()
    with torch.no_grad():
        model.output.bias[0] = 1e6
    assert 1e20 < training.perplexity(model, corpus.validation) < math.inf
    with torch.no_grad():
        model.output.bias[0] = math.nan
    assert math.isnan(training.perplexity(model, corpus.validation))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "0 sentences to train on and 0 to validate; give more text, or hold out another share"),
        (b"\n \n\t\n", "0 sentences to train on and 0 to validate"),
        (b"one sentence\n", "to validate; give more text"),
        (b"fine\nnot \xff fine\n", r":2: not UTF-8; save the text as UTF-8"),
    ],
)
def test_text_that_cannot_be_trained_on_leaves_nothing_behind(tmp_path: Path, content, said):
    (tmp_path / "text.txt").write_bytes(content)
    with pytest.raises(InputError, match=said):
        train_encoder([str(tmp_path / "text.txt")], tmp_path / "encoder", SETTINGS)
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]
