"""Byte-pair encoding that gives back exactly the text."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from polyref.errors import InputError, MissingExtraError, OutputError, SettingsError
from polyref.text import subwords as module
from polyref.text.subwords import BOS, EOS, PAD, SMALLEST, Subwords

TEXTS = [
    "A cat sleeps on the mat, and another cat sleeps beside it.",
    "The cat is asleep; the dog is not asleep.",
    "Eine Katze schläft auf der Matte.  Die Katze schläft.",
    "一只猫在垫子上睡觉。一只狗在跑。",
]


@pytest.fixture(scope="module")
def learned() -> Subwords:
    return Subwords.learn(TEXTS * 2, 400)


@given(st.text())
@example("")
@example(" ")
@example("  two  spaces before, between and behind  ")
@example("one\nline\r\nand\tanother\n")
@example("👩‍👩‍👧 👍🏽")
@example("\u0301alone \u200d\ufeff\x00")
@example("no token the begin the end <pad> <s> Ġ ĠĠ")
@example("an unpaired end of a word: cat\u00a0")
def test_any_text_comes_back_exactly(learned: Subwords, text: str):
    assert learned.decode(learned.encode(text)) == text


@given(st.lists(st.text(), max_size=5))
def test_many_texts_are_encoded_as_each_alone(learned: Subwords, texts: list[str]):
    assert learned.encode_all(iter(texts)) == [learned.encode(text) for text in texts]


@given(st.text())
@example("no token")
@example("the begin")
@example("the end")
def test_no_text_holds_a_special_number(learned: Subwords, text: str):
    assert not {PAD, BOS, EOS} & set(learned.encode(text))


def test_special_names_are_not_learned_from_text_that_repeats_them():
    learned = Subwords.learn(["the end", "no token", "the begin"] * 50, 400)
    assert learned.encode("the end") != [EOS]
    assert min(learned.encode("the end no token the begin")) > EOS


def test_special_numbers_say_nothing(learned: Subwords):
    numbers = learned.encode("a cat")
    assert learned.decode([BOS, *numbers, EOS, PAD, PAD]) == "a cat"


def test_frequent_words_become_one_unit(learned: Subwords):
    assert len(learned.encode(" cat")) == 1
    assert len(learned.encode(" zebra")) > 1


def test_a_larger_vocabulary_cuts_finer_text_into_fewer_units(learned: Subwords):
    small = Subwords.learn(TEXTS * 2, SMALLEST)
    assert len(small) == SMALLEST
    assert len(small) < len(learned) <= 400
    assert len(learned.encode(TEXTS[0])) < len(small.encode(TEXTS[0])) == len(TEXTS[0].encode())


def test_all_numbers_are_below_the_size(learned: Subwords):
    assert {number for text in TEXTS for number in learned.encode(text)} < set(range(len(learned)))


def test_a_saved_vocabulary_is_loaded_as_it_was(learned: Subwords, tmp_path: Path):
    learned.save(tmp_path / "subwords.json")
    loaded = Subwords.load(tmp_path / "subwords.json")
    assert loaded == learned
    assert hash(loaded) == hash(learned)
    assert len(loaded) == len(learned)
    assert loaded.encode(TEXTS[0]) == learned.encode(TEXTS[0])
    assert [path.name for path in tmp_path.iterdir()] == ["subwords.json"]


def test_the_same_text_gives_the_same_bytes_in_another_process(learned: Subwords, tmp_path: Path):
    learned.save(tmp_path / "here.json")
    code = (
        f"import sys; from polyref.text.subwords import Subwords\nSubwords.learn({TEXTS * 2!r}, 400).save(sys.argv[1])"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "there.json")], check=True)
    assert (tmp_path / "here.json").read_bytes() == (tmp_path / "there.json").read_bytes()


def test_texts_of_two_languages_can_share_a_vocabulary():
    joint = Subwords.learn(["the cat", "die katze"] * 20, 300)
    assert len(joint.encode("the cat")) == len(joint.encode("die katze")) == 2


@pytest.mark.parametrize("size", [SMALLEST - 1, 1_000_001, 10**9, 4 * 10**18, 10**20])
def test_a_size_that_has_no_room_for_the_bytes_or_is_beyond_all_use_is_refused(size: int):
    with pytest.raises(SettingsError, match=f"vocabulary size is {size}; give a number from {SMALLEST} to 1,000,000"):
        Subwords.learn(TEXTS, size)


def test_a_text_that_cannot_be_read_ends_the_learning():
    def texts() -> Any:
        yield from TEXTS * 2000
        raise InputError("no more")

    with pytest.raises(InputError, match="no more"):
        Subwords.learn(texts(), 300)


def test_half_a_character_is_refused(learned: Subwords):
    for use in (learned.encode, lambda text: learned.encode_all([text]), lambda text: Subwords.learn([text], 300)):
        with pytest.raises(InputError, match=r"a \\ud83d.* holds half a surrogate pair; repair it"):
            use("a \ud83d")


@pytest.mark.parametrize("number", [-1, 400])
def test_a_number_that_is_no_unit_is_refused(learned: Subwords, number: int):
    with pytest.raises(
        InputError, match=f"{number} is not a unit of the vocabulary; give numbers below {len(learned)}"
    ):
        learned.decode([5, number])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "there is no such file"),
        (b"\xff\xfe", "holds no subwords"),
        (b"{}", "holds no subwords"),
        (b"not JSON", "holds no subwords"),
    ],
)
def test_a_file_without_subwords_is_refused(content: bytes | None, says: str, tmp_path: Path):
    path = tmp_path / "subwords.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=f"subwords.json: {says}"):
        Subwords.load(path)


def test_a_tokenizer_with_other_special_numbers_is_refused(learned: Subwords, tmp_path: Path):
    learned.save(tmp_path / "subwords.json")
    content = (tmp_path / "subwords.json").read_text().replace('"the end"', '"another"')
    (tmp_path / "subwords.json").write_text(content)
    with pytest.raises(InputError, match="numbers 0, 1 and 2 are not padding, begin and end"):
        Subwords.load(tmp_path / "subwords.json")


def _number(vocabulary: dict[str, int], old: int, new: int) -> None:
    vocabulary[next(unit for unit, number in vocabulary.items() if number == old)] = new


ADDED = {"id": 10, "content": "cat", "special": True} | dict.fromkeys(
    ("single_word", "lstrip", "rstrip", "normalized"), False
)
CUT = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
CUPBOARD = ("cup", "board", "cupboard")
CHANGES: dict[str, tuple[Any, str]] = {
    "no cutting into words": (lambda file: file.update(pre_tokenizer=None), '"pre_tokenizer"'),
    "no way back": (lambda file: file.update(decoder=None), '"decoder"'),
    "texts cut off": (lambda file: file.update(truncation=CUT), '"truncation"'),
    "small letters": (lambda file: file.update(normalizer={"type": "Lowercase"}), '"normalizer"'),
    "words apart": (lambda file: file["added_tokens"].append(ADDED), '"added_tokens"'),
    "another model": (
        lambda file: file.update(model={"type": "WordLevel", "vocab": file["model"]["vocab"], "unk_token": "a"}),
        '"model"',
    ),
    "chance": (lambda file: file["model"].update(dropout=0.5), '"dropout" of "model"'),
    "a gap": (lambda file: file["model"]["vocab"].update(cupboard=5000), "the numbers of the vocabulary"),
    "a number twice": (lambda file: file["model"]["vocab"].update(cupboard=7), "the numbers of the vocabulary"),
    "a number less": (lambda file: _number(file["model"]["vocab"], 290, 289), "the numbers of the vocabulary"),
    "a byte less": (
        lambda file: file["model"]["vocab"].update(cupboard=file["model"]["vocab"].pop("~")),
        '"vocab" of "model"',
    ),
    "a merge of units that nothing makes": (
        lambda file: (
            file["model"]["merges"].append(["cup", "board"]),
            file["model"]["vocab"].update({unit: len(file["model"]["vocab"]) + n for n, unit in enumerate(CUPBOARD)}),
        ),
        '"merges" of "model"',
    ),
    "a unit that nothing makes": (
        lambda file: file["model"]["vocab"].update(cupboard=len(file["model"]["vocab"])),
        '"vocab" of "model"',
    ),
}


@pytest.mark.parametrize(("change", "says"), CHANGES.values(), ids=CHANGES)
def test_a_file_that_would_change_texts_is_refused(change: Any, says: str, learned: Subwords, tmp_path: Path):
    path = tmp_path / "subwords.json"
    learned.save(path)
    file = json.loads(path.read_text())
    change(file)
    path.write_text(json.dumps(file))
    with pytest.raises(InputError, match=rf"subwords\.json: {says} .*; learn the subwords with polyref"):
        Subwords.load(path)


def test_a_file_may_be_formatted_anew(learned: Subwords, tmp_path: Path):
    learned.save(tmp_path / "subwords.json")
    file = json.loads((tmp_path / "subwords.json").read_text())
    (tmp_path / "subwords.json").write_text(json.dumps(dict(reversed(file.items())), indent=7))
    assert Subwords.load(tmp_path / "subwords.json") == learned


@pytest.mark.parametrize("name", ["folder", "."])
def test_what_could_not_be_saved_leaves_nothing(name: str, learned: Subwords, tmp_path: Path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputError, match="cannot be written"):
        learned.save(tmp_path / name if name != "." else Path(name))
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_what_cannot_be_written_says_where(learned: Subwords, tmp_path: Path):
    with pytest.raises(OutputError, match=r"missing/subwords\.json: cannot be written"):
        learned.save(tmp_path / "missing" / "subwords.json")


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtraError, match=r'pip install "polyref\[torch\]"'):
        module.Subwords.learn(TEXTS, 300)
