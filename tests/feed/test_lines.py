"""The pairs of an epoch as lines of text, as prompts, and as examples."""

import json

import pytest

from polyref.errors import InputError, SettingsError
from polyref.example import Example, PseudoReference, Reference
from polyref.feed import Pair, stream
from polyref.feed import lines as lines_module
from polyref.feed.lines import examples_of_epoch, first_broken, lines, prompt_completion

EXAMPLES = [
    Example("a", "ü", (Reference("one", 2.0), Reference("ein\u2028s")), (PseudoReference("a one", 97.13),)),
    Example("b", ["x", {"y": None}], (Reference("two"),)),
]
BROKEN = [Example("1", "s", (Reference("r"),)), Example("2", "a\tb", (Reference("c\r\n\nd"), Reference("\te\n")))]


def joined(data, format: str, epoch: int = 0, **share: int) -> list[bytes]:
    return [b"".join(pieces) for pieces in zip(*lines(data, epoch, format, **share), strict=True)]


def test_tsv_has_a_pair_a_line():
    data = stream(EXAMPLES, "uniform")
    [content] = joined(data, "tsv")
    expected = ["ü\tone", "ü\tein\u2028s", "ü\ta one", '["x", {"y": null}]\ttwo', ""]
    assert content.decode() == "\n".join(expected)


def test_parallel_text_has_two_files():
    sources, references = joined(stream(EXAMPLES, "uniform"), "parallel")
    assert sources.decode() == 'ü\nü\nü\n["x", {"y": null}]\n'
    assert references.decode() == "one\nein\u2028s\na one\ntwo\n"


def test_json_lines_and_prompts():
    [content] = joined(stream(EXAMPLES, "uniform"), "jsonl")
    found = [json.loads(line) for line in content.split(b"\n")[:-1]]
    assert found[2] == {"id": "a", "source": "ü", "reference": "a one", "gold": False, "bleu": 97.13}
    assert found[3] == {"id": "b", "source": ["x", {"y": None}], "reference": "two", "gold": True}
    [content] = joined(stream(EXAMPLES[:1], "first"), "prompt-completion")
    assert content.decode() == '{"prompt": "ü", "completion": " one"}\n'


@pytest.mark.parametrize("format", ["tsv", "parallel", "jsonl"])
@pytest.mark.parametrize("name", ["sample_one", "uniform", "shuffle"])
@pytest.mark.parametrize("is_large", [False, True])
def test_the_pieces_and_shares_of_an_epoch_are_the_epoch(format, name, is_large, monkeypatch: pytest.MonkeyPatch):
    examples = [Example(str(n), f"s{n}", tuple(Reference(f"r{n} {m}") for m in range(n % 4 + 1))) for n in range(40)]
    data = stream(examples, name)
    whole = joined(data, format, 1)
    monkeypatch.setattr(lines_module, "_AT_ONCE", 3)
    monkeypatch.setattr(lines_module, "_AT_ONCE_OF_LARGE", 20)
    monkeypatch.setattr(type(data.corpus), "is_large", is_large)
    assert len(list(lines(data, 1, format))) > 3
    assert joined(data, format, 1) == whole
    cut = [file.splitlines(True) for file in whole]
    for start in (1, 5, len(data) - 1):
        assert joined(data, format, 1, start=start) == [b"".join(file[start:]) for file in cut]
    shares = [joined(data, format, 1, rank=rank, ranks=3) for rank in range(3)]
    for file, everything in enumerate(cut):
        assert sorted(line for share in shares for line in share[file].splitlines(True)) == sorted(everything)
    rest = joined(data, format, 1, start=2, rank=1, ranks=3)
    assert rest == [b"".join(file.splitlines(True)[2:]) for file in shares[1]]


def test_what_a_format_cannot_hold_becomes_a_space():
    data = stream(BROKEN, "uniform")
    assert joined(data, "tsv") == [b"s\tr\na b\tc d\na b\t e \n"]
    assert joined(data, "parallel") == [b"s\na\tb\na\tb\n", b"r\nc d\n\te \n"]
    assert [json.loads(line)["reference"] for line in joined(data, "jsonl")[0].splitlines()] == [
        "r",
        "c\r\n\nd",
        "\te\n",
    ]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["r", "r"], {"tsv": 0, "parallel": 0, "jsonl": 0}),
        (["r\t", "r\n"], {"tsv": 1, "parallel": 2, "jsonl": 0}),
        (["r\n", "r\t"], {"tsv": 1, "parallel": 1, "jsonl": 0}),
        (["r", "r\t"], {"tsv": 2, "parallel": 0, "jsonl": 0}),
    ],
)
def test_the_first_text_that_a_format_cannot_hold_is_found(texts, expected):
    data = stream([Example(str(number), "s", (Reference(text),)) for number, text in enumerate(texts)])
    assert {format: first_broken(data, format) for format in expected} == expected


# -- examples -------------------------------------------------------------------------------------------------------


def test_examples_hold_the_references_of_an_epoch():
    expected = [
        Example("a", "ü", (Reference("one", 2.0), Reference("ein\u2028s"), Reference("a one"))),
        Example("b", ["x", {"y": None}], (Reference("two"),)),
    ]
    for name in ("uniform", "shuffle"):
        assert list(examples_of_epoch(stream(EXAMPLES, name), 3)) == expected
    gold = stream(EXAMPLES, "shuffle", gold_only=True)
    assert [len(example.references) for example in examples_of_epoch(gold, 0)] == [2, 1]


def test_examples_of_sample_one_hold_what_it_draws():
    data = stream(EXAMPLES, "sample_one")
    for epoch in range(5):
        found = list(examples_of_epoch(data, epoch))
        assert [example.id for example in found] == ["a", "b"]
        assert [one.references[0].text for one in found] == [pair.reference for pair in data.epoch(epoch)]


def test_examples_that_are_longer_than_a_piece_stay_whole(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lines_module, "_AT_ONCE", 2)
    assert [len(example.references) for example in examples_of_epoch(stream(EXAMPLES, "uniform"), 0)] == [3, 1]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"schedule": "first", "order": "shuffled"}, "a file of examples has its own order"),
        ({"draw": True}, "a file of examples holds each reference once"),
        ({"gold_share": 0.5}, "a file of examples holds each reference once"),
    ],
)
def test_what_a_file_of_examples_cannot_show_is_refused(settings, says):
    with pytest.raises(SettingsError) as refused:
        list(examples_of_epoch(stream(EXAMPLES, **settings), 0))
    assert says in str(refused.value)


# -- prompts and completions ------------------------------------------------------------------------------------------

QUESTION = {"role": "user", "content": "Say it in English: Guten Morgen"}


def pair(source: object, reference: str = "Good morning") -> Pair:
    return Pair("7", source, reference, True)


@pytest.mark.parametrize(
    ("source", "reference", "completion"),
    [
        ("Guten Morgen", "Good morning", " Good morning"),
        ("Guten Morgen\n", "Good morning", "Good morning"),
        ("Guten Morgen", "\tGood morning", "\tGood morning"),
        ("", "Good morning", "Good morning"),
    ],
)
def test_a_text_and_its_reference_stay_apart_when_they_are_put_together(source, reference, completion):
    assert prompt_completion(pair(source, reference)) == {"prompt": source, "completion": completion}


def test_what_stands_between_them_can_be_chosen():
    assert prompt_completion(pair("早上好"), separator="")["completion"] == "Good morning"
    assert prompt_completion(pair("Guten Morgen"), separator=" => ")["completion"] == " => Good morning"


def test_messages_are_answered_by_the_assistant():
    source = [{"role": "system", "content": "Be brief."}, QUESTION]
    found = prompt_completion(pair(source))
    assert found == {"prompt": source, "completion": [{"role": "assistant", "content": "Good morning"}]}


def test_a_message_may_have_parts_and_other_keys():
    source = [{"role": "user", "content": [{"type": "text", "text": "Guten Morgen"}], "name": "Ada"}]
    assert prompt_completion(pair(source))["prompt"] == source


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (None, 'the source of "7" is not a prompt; give a text'),
        ({"name": "Aromi"}, 'the source of "7" is not a prompt; give a text'),
        ([], 'the source of "7" is not a prompt; give a text'),
        (["Guten Morgen"], 'message 1 in the source of "7" has no role or no content'),
        ([QUESTION, {"role": "user"}], 'message 2 in the source of "7" has no role or no content'),
        ([{"role": 3, "content": "x"}], 'message 1 in the source of "7" has no role or no content'),
        ([QUESTION, {"role": "assistant", "content": "Hi"}], "end with an answer of the assistant; take it out"),
    ],
)
def test_what_is_no_prompt_is_refused(source, says):
    with pytest.raises(InputError) as refused:
        prompt_completion(pair(source))
    assert says in str(refused.value)
