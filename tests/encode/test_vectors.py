"""A table of static word vectors as an encoder."""

from pathlib import Path

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from malformed import MALFORMED_TABLES, Malformed, each

from polyref.encode import WordVectors, open_encoder
from polyref.errors import InputError, SettingsError

WORDS = ["cat", "dog", "Paris", "the", "The", "new york"]
VECTORS = np.array([[3, 4, 0], [0, 0.5, 0], [1, 1, 1], [0.125, -0.25, 0.375], [1, 0, 0], [2, 0, 1]])
TABLE = WordVectors(WORDS, VECTORS)


def as_text(words: list[str] = WORDS, scale: float = 1.0) -> str:
    rows = [" ".join([word, *map(repr, map(float, row * scale))]) for word, row in zip(words, VECTORS, strict=False)]
    return "".join(row + "\n" for row in rows)


def save_npz(path: Path, vectors: np.ndarray = VECTORS) -> str:
    np.savez(path, words=np.array(WORDS), vectors=vectors)
    return str(path)


def save_text(path: Path, text: str) -> str:
    path.write_bytes(text.encode())
    return str(path)


def vector_bytes(encoder: WordVectors, sentence: list[str]) -> bytes:
    return encoder.encode([sentence])[0].vectors.tobytes()


def test_each_word_has_a_unit_vector_in_float16():
    [encoding] = TABLE.encode([["cat", "dog", "cat"]])
    assert encoding.vectors.dtype == np.float16
    assert encoding.known.tolist() == [True, True, True]
    assert encoding.vectors.tolist() == np.array([[0.6, 0.8, 0], [0, 1, 0], [0.6, 0.8, 0]], np.float16).tolist()


def test_an_unknown_word_is_not_known_and_has_no_direction():
    [encoding] = TABLE.encode([["cat", "zebra"]])
    assert encoding.known.tolist() == [True, False]
    assert encoding.vectors[1].tolist() == [0, 0, 0]


@pytest.mark.parametrize(("word", "same_as"), [("DOG", "dog"), ("Cat", "cat"), ("The", "The"), ("THE", "the")])
def test_a_word_that_the_table_lacks_is_looked_up_in_lower_case(word, same_as):
    assert vector_bytes(TABLE, [word]) == vector_bytes(TABLE, [same_as])
    assert vector_bytes(TABLE, ["the"]) != vector_bytes(TABLE, ["The"])


def test_a_word_of_the_table_in_capitals_is_not_found_from_below():
    assert not TABLE.encode([["paris"]])[0].known[0]


def test_the_first_of_two_vectors_of_a_word_counts():
    table = WordVectors(["a", "a"], np.eye(2))
    assert table.encode([["a"]])[0].vectors.tolist() == [[1, 0]]


def test_a_vector_of_zeros_stays_one_and_is_known():
    [encoding] = WordVectors(["a", "b"], np.array([[0.0, 0.0], [0.0, 1.0]])).encode([["a"]])
    assert encoding.vectors.tolist() == [[0, 0]]
    assert encoding.known[0]


def test_a_sentence_without_words_has_no_vectors():
    [encoding] = TABLE.encode([[]])
    assert encoding.vectors.shape == (0, 3)
    assert encoding.known.shape == (0,)


SENTENCES = st.lists(st.lists(st.sampled_from([*WORDS, "zebra", "DOG"]), max_size=5), max_size=5)


@given(st.lists(st.sampled_from([*WORDS, "zebra", "DOG"]), max_size=5), SENTENCES, SENTENCES)
def test_a_sentence_has_the_same_bytes_alone_and_in_any_batch(sentence, before, after):
    [alone] = TABLE.encode([sentence])
    among = TABLE.encode([*before, sentence, *after])[len(before)]
    assert among.vectors.tobytes() == alone.vectors.tobytes()
    assert among.known.tobytes() == alone.known.tobytes()


@pytest.mark.parametrize(
    "text",
    [
        as_text(),
        f"{len(WORDS)} 3\n{as_text()}",
        as_text().replace("\n", "\r\n"),
        as_text().replace("\n", " \n"),
        as_text().rstrip("\n"),
    ],
    ids=["GloVe", "word2vec's header", "carriage returns", "spaces at the end", "no end"],
)
def test_a_text_table_gives_the_vectors_of_an_npz(text, tmp_path: Path):
    from_text = WordVectors.load(save_text(tmp_path / "table.txt", text))
    from_npz = WordVectors.load(save_npz(tmp_path / "table.npz"))
    assert vector_bytes(from_text, WORDS) == vector_bytes(from_npz, WORDS)
    assert from_text.encode([WORDS])[0].known.all()


@pytest.mark.parametrize("scale", [2.0**-30, 2.0**-10, 2.0**10, 2.0**20])
def test_the_length_of_the_vectors_in_a_table_does_not_matter(scale, tmp_path: Path):
    from_text = WordVectors.load(save_text(tmp_path / "table.txt", as_text(scale=scale)))
    from_npz = WordVectors.load(save_npz(tmp_path / "table.npz", VECTORS * scale))
    assert vector_bytes(from_npz, WORDS) == vector_bytes(TABLE, WORDS)
    assert vector_bytes(from_text, WORDS) == vector_bytes(TABLE, WORDS)


def test_the_numbers_of_a_text_table_are_rounded_once(tmp_path: Path):
    table = WordVectors.load(save_text(tmp_path / "table.txt", "cat 0.1 -0.2 0.3\n"))
    expected = WordVectors(["cat"], np.array([[0.1, -0.2, 0.3]]))
    assert vector_bytes(table, ["cat"]) == vector_bytes(expected, ["cat"])


def test_words_may_hold_spaces_and_numbers(tmp_path: Path):
    table = WordVectors.load(save_text(tmp_path / "table.txt", "cat 1 0\nnew york 0 1\n. . . 1 1\n3 1 0\n"))
    assert table.encode([["new york", ". . .", "3", "york"]])[0].known.tolist() == [True, True, True, False]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_an_npz_may_hold_any_kind_of_float(dtype, tmp_path: Path):
    table = WordVectors.load(save_npz(tmp_path / "table.npz", VECTORS.astype(dtype)))
    np.testing.assert_allclose(table.encode([WORDS])[0].vectors, TABLE.encode([WORDS])[0].vectors, atol=1e-3)


def test_a_table_is_known_by_its_content_and_not_by_its_name(tmp_path: Path):
    table = WordVectors.load(save_npz(tmp_path / "table.npz"))
    misnamed = (tmp_path / "table.npz").rename(tmp_path / "table.txt")
    assert vector_bytes(WordVectors.load(str(misnamed)), WORDS) == vector_bytes(table, WORDS)


def test_the_hash_names_the_content_and_the_name_the_file(tmp_path: Path):
    first, same = (WordVectors.load(save_text(tmp_path / name, as_text())) for name in ("a.txt", "b.txt"))
    other = WordVectors.load(save_text(tmp_path / "c.txt", as_text(scale=2.0)))
    assert first.hash == same.hash != other.hash
    assert first.name == f"vectors:{tmp_path / 'a.txt'}"


@each(MALFORMED_TABLES)
def test_a_malformed_table_is_refused_with_its_name_and_line(case: Malformed, tmp_path: Path):
    path = case.write(tmp_path)
    with pytest.raises(InputError) as refused:
        WordVectors.load(path)
    assert (refused.value.file, refused.value.line) == (path, case.line)
    assert case.says in str(refused.value)
    assert refused.value.cure
    assert path not in [opened.path for opened in psutil.Process().open_files()]


def test_words_and_vectors_must_be_as_many():
    with pytest.raises(InputError, match="2 words, but 1 vectors"):
        WordVectors(["a", "b"], np.ones((1, 3)))


@pytest.mark.parametrize("name", ["nothing.txt", ""])
def test_a_table_that_cannot_be_opened_is_refused_by_its_name(name, tmp_path: Path):
    path = str(tmp_path / name)
    with pytest.raises(InputError, match=r"(there is no such file|cannot be opened \(.*\)); check the path") as refused:
        open_encoder(f"vectors:{path}")
    assert refused.value.file == path


def test_an_encoder_is_opened_by_its_name(tmp_path: Path):
    encoder = open_encoder(f"vectors:{save_npz(tmp_path / 'a:b.npz')}")
    assert encoder.encode([["cat"]])[0].known[0]


@pytest.mark.parametrize("name", ["", "glove", "vectors", "vectors:", "bert:x"])
def test_an_unknown_encoder_is_refused_with_the_ones_that_exist(name):
    with pytest.raises(SettingsError, match=f'there is no encoder "{name}"; give english, the folder'):
        open_encoder(name)
