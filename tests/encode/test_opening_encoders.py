"""The encoder inside the package: small, always there, and the same alone and in a batch."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from samples import CAT, captions

import polyref
from polyref import AlignSettings, Lattice, SettingsError, VectorSettings, open_encoder
from polyref.draw.aligned import compare
from polyref.encode import DEFAULT, ContextEncoder, WordVectors, default_encoder
from polyref.encode.context import read_config
from polyref.encode.opening import BUILTIN, KINDS, Kind, builtin_folder, is_encoder
from polyref.scale import ToolSettings

SENTENCES = [text.split() for text in (*CAT, "she sold it .", "zorblat", *(first for first, *_ in captions(200)))]
FOREIGN = {
    "french": [
        "un chat gris est couché dans un bol rouge posé sur une table près de la fenêtre",
        "un chat brun et noir est endormi dans un saladier sur la table de la cuisine",
        "le petit garçon joue au ballon avec son père dans le jardin derrière la maison",
        "elle porte une robe bleue et un chapeau de paille pendant la fête de son frère",
    ],
    "german": [
        "der alte mann sitzt am fenster und wartet auf seine frau die heute spät nach hause kommt",
        "eine graue katze schläft in einer roten schüssel auf dem tisch in der küche",
        "zwei kinder spielen mit einem ball im garten hinter dem haus ihrer großeltern",
        "sie trägt ein blaues kleid und einen hut während des festes ihres bruders",
    ],
    "spanish": [
        "el gato negro duerme sobre la mesa de la cocina cerca de una ventana muy grande y abierta",
        "dos niños juegan con una pelota en el jardín detrás de la casa de sus abuelos",
        "la mujer lleva un vestido azul y un sombrero de paja durante la fiesta de su hermano",
        "los hombres esperan el tren en la estación mientras llueve mucho esta mañana",
    ],
}
MADE_UP = (
    "Zorblat Quimfy Vextor Naruubi Plonkett Drizhana Wubbolo Krelling Ostivarn Fenwhistle Yarrodin Tchabwe Zorblam"
)
NAMES = MADE_UP.split()
FRAMES = [
    "{} lives in a small house near the river",
    "my friend {} bought a new car",
    "a man called {} is standing on the street",
    "the dog {} is sleeping on the couch",
    "she works for {} in the city",
    "we went to {} last summer",
    "people from {} play football in the park",
    "the president of {} said no",
    "yesterday {} was seen at the station",
    "the old village of {} is beautiful",
    "he said that {} would win the game",
    "a bottle of {} stands on the table",
]


@pytest.fixture(scope="module")
def english() -> ContextEncoder:
    encoder = open_encoder("english")
    assert isinstance(encoder, ContextEncoder)
    return encoder


def test_the_vectors_of_the_package_are_those_that_they_always_were(english: ContextEncoder):
    """Caches and expanded files of a person depend on them."""
    vectors = b"".join(encoding.vectors.tobytes() for encoding in english.encode([text.split() for text in CAT]))
    assert (english.hash, hashlib.sha256(vectors).hexdigest()[:16]) == ("0e502d25aa891e10", "c2ea6c354bfdd0c7")
    assert open_encoder("english", VectorSettings()) is default_encoder()


@pytest.mark.parametrize("name", ["vectors:table.npz", "huggingface:model"])
def test_only_a_language_model_has_a_share_for_the_word_itself(name: str):
    for make in (
        lambda: open_encoder(name, VectorSettings(word_share=0.3)),
        lambda: ToolSettings(encoder=name, vectors=VectorSettings(word_share=0.3)),
    ):
        with pytest.raises(
            SettingsError, match=r"word_share has no effect on \w+:, whose vectors are taken as they are"
        ):
            make()
    ToolSettings(encoder=name, vectors=VectorSettings(word_share=0.0, centre=False))  # which is so there anyway


# -- what is in the package -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BUILTIN)
def test_what_lies_in_the_package_is_small(name: str):
    files = [path for path in builtin_folder(name).rglob("*") if path.is_file()]
    assert {"config.json", "vocabulary.txt", "weights.safetensors"} <= {path.name for path in files}
    assert sum(path.stat().st_size for path in files) <= 10_000_000


def test_all_data_of_the_package_is_small():
    """Compiled kernels are no data: they are made where the package is installed."""
    package = Path(polyref.__file__).parent
    files = [path for path in package.rglob("*") if path.is_file() and package / "kernels" not in path.parents]
    data = [path for path in files if path.suffix not in {".py", ".pyc", ".nbi", ".nbc"}]
    assert sum(path.stat().st_size for path in data) <= 10_000_000


def test_the_default_is_one_of_the_encoders_inside(english: ContextEncoder):
    assert DEFAULT in BUILTIN
    assert default_encoder() is english
    assert english.name == "english"
    assert english.config == read_config(builtin_folder("english"))


def test_it_is_opened_once():
    assert open_encoder("english") is open_encoder("english")


def test_a_line_in_the_kinds_is_all_that_a_new_encoder_needs(monkeypatch: pytest.MonkeyPatch):
    table = WordVectors(["cat"], np.ones((1, 2)))
    monkeypatch.setitem(KINDS, "mine", Kind("WORD", lambda rest: table, lambda rest: rest == "cat"))
    assert open_encoder("mine:cat") is table
    assert (is_encoder("mine:cat"), is_encoder("mine:dog"), is_encoder("mine:")) == (True, False, False)
    with pytest.raises(SettingsError, match=r'there is no encoder "yours:cat"; give english, .* or mine:WORD$'):
        open_encoder("yours:cat")


def test_whether_there_is_an_encoder_is_told_without_opening_it(tmp_path: Path):
    (tmp_path / "table.txt").touch()
    there = ["english", str(tmp_path), f"vectors:{tmp_path / 'table.txt'}", "huggingface:owner/name"]
    missing = ["", "french", str(tmp_path / "none"), f"vectors:{tmp_path / 'none.txt'}", "vectors:", "huggingface:"]
    assert list(map(is_encoder, [*there, *missing])) == [True] * 4 + [False] * 6


def test_it_tells_its_baseline(english: ContextEncoder):
    assert -0.2 < english.baseline < 0.5


# -- its vectors ------------------------------------------------------------------------------------------------


def test_a_vector_has_the_same_bytes_alone_and_in_a_batch(english: ContextEncoder):
    together = english.encode(SENTENCES)
    for sentence, encoding in zip(SENTENCES[:12], together, strict=False):
        [alone] = english.encode([sentence])
        assert alone.vectors.tobytes() == encoding.vectors.tobytes()
        assert alone.known.tolist() == encoding.known.tolist()
    backwards = english.encode(SENTENCES[::-1])[::-1]
    assert [one.vectors.tobytes() for one in backwards] == [one.vectors.tobytes() for one in together]


def test_fluency_is_the_same_alone_and_in_a_batch(english: ContextEncoder):
    together = english.fluency(SENTENCES)
    assert [english.fluency([sentence])[0] for sentence in SENTENCES[:12]] == together[:12]


def test_vectors_have_length_one(english: ContextEncoder):
    vectors = np.concatenate([encoding.vectors for encoding in english.encode(SENTENCES)]).astype(np.float64)
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 2e-3


def test_common_words_are_known_and_made_up_ones_are_not(english: ContextEncoder):
    known, unknown = english.encode(
        [["the", "cat", "sits", "on", "a", "table", "."], [name.lower() for name in NAMES[:8]]]
    )
    assert known.known.all()
    assert not unknown.known.any()


# -- soft alignment with it -------------------------------------------------------------------------------------


def test_soft_alignment_works_without_naming_an_encoder(english: ContextEncoder):
    soft = AlignSettings(align="soft")
    lattice = Lattice.from_references(CAT, align=soft, engine="plain")
    named = Lattice.from_references(CAT, align=soft, encoder=english, engine="plain")
    assert lattice.count == named.count
    assert lattice.arcs == named.arcs
    assert lattice.penalty == AlignSettings().penalty
    assert all(text in lattice for text in CAT)


def name_in(left: str, right: str) -> tuple[float, bool]:
    """How alike two references are at their unknown words, and whether these were linked."""
    lattice = Lattice.from_references([left, right], align=AlignSettings("soft"), engine="plain")
    found = compare(lattice, 0, 1)
    [u], [v] = ([place for place, word in enumerate(words) if word in NAMES] for words in (found.left, found.right))
    return found.similarity[u][v], (u, v) in found.links


@pytest.mark.parametrize("frame", FRAMES)
def test_two_made_up_names_in_the_same_place_are_not_taken_for_the_same(frame: str):
    """What stands around them is all the same, and they are nothing but what stands around them to a vocabulary."""
    for one, other in zip(NAMES, [*NAMES[1:], NAMES[0]], strict=True):
        similarity, linked = name_in(frame.format(one), frame.format(other))
        assert similarity < AlignSettings().penalty
        assert not linked


@pytest.mark.parametrize("frame", FRAMES)
def test_one_made_up_name_is_like_itself(frame: str):
    for name in NAMES:
        similarity, linked = name_in(frame.format(name), f"today {frame.format(name)} again")
        assert similarity > AlignSettings().penalty
        assert linked


# -- another language -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", FOREIGN)
def test_another_language_is_refused_with_a_cure(language: str, english: ContextEncoder):
    with pytest.raises(SettingsError, match='the encoder "english" does not know') as refused:
        english.check([text.split() for text in FOREIGN[language]])
    assert "set align to hard" in str(refused.value)
    with pytest.raises(SettingsError, match='the encoder "english" does not know'):
        Lattice.from_references(FOREIGN[language], align=AlignSettings("soft"), engine="plain")
    assert Lattice.from_references(FOREIGN[language], engine="plain").count > 1


def test_english_with_a_name_in_each_sentence_is_not_refused(english: ContextEncoder):
    english.check([frame.format(name).lower().split() for frame, name in zip(FRAMES, NAMES, strict=False)])
