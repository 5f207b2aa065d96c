"""What was read is written again to the letter, with the result behind it."""

import json
from collections.abc import Iterable
from dataclasses import replace

import pytest

from polyref.data import Fields, Line, parse, render
from polyref.example import Example, KeptLattice, LatticeSummary, PseudoReference, Reference

RECORDS = {
    "plain": '{"id": "1", "source": "s", "references": ["a cat"]}',
    "compact": '{"id":"1","source":"s","references":["a cat"]}',
    "wide": '{ "id" :  "1" ,"source":\t"s", "references" : [ "a cat" , "b" ]}',
    "another order of keys": '{"z": 1, "references": ["a cat"], "a": 2, "source": null, "id": 9}',
    "unknown keys": '{"source": 1, "references": ["a"], "url": "x", "deep": {"a": [1, {"b": null}]}, "": 0}',
    "formats of numbers": '{"source": 1.10, "references": ["a"], "n": [1e400, -0, -0.0, 1E5, 0.100]}',
    "large whole numbers": '{"source": 123456789012345678901234567890, "references": ["a"]}',
    "escapes": '{"source": "\\u00e9\\/\\n\\ud83d\\ude00", "references": ["caf\\u00e9 \\"x\\"", "\\t b"]}',
    "unicode": '{"source": "naïve 😀", "references": ["日本語 です"], "ключ": "значение"}',
    "weights": '{"source": 1, "references": [{"text": "a", "weight": 2.50, "x": 0}, {"weight": 1, "text": "b"}]}',
    "brackets in texts": '{"source": "}", "references": ["a } ] {"], "x": "\\"lattice\\": {"}',
    "the result's names inside": '{"source": {"lattice": 1}, "references": ["lattice"], "x": ["pseudo_references"]}',
}
PSEUDO = '"pseudo_references": [{"text": "a “dog”", "bleu": 97.12}, {"text": "a", "bleu": 100.0, "repeat": true}]'
LATTICE = '"lattice": {"sentences": "216", "log10_sentences": 2.33, "penalty": 0.6, "exact": true}'
OLD_PSEUDO = '"pseudo_references":[{"text":"old","bleu":1}]'
OLD_LATTICE = '"lattice": {"sentences": "5", "penalty": null, "exact": false}'


def parsed(record: str, fields: Fields | None = None) -> Example:
    return parse(Line(1, record.encode(), 0), "examples.jsonl", fields or Fields())


def with_result(example: Example) -> Example:
    found = PseudoReference("a “dog”", 97.1234), PseudoReference("a", 100.0, repeat=True)
    return replace(example, pseudo_references=found, lattice=LatticeSummary(216, 0.6, exact=True))


def each(records: Iterable[str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("record", records, ids=list(RECORDS))


@each(RECORDS.values())
def test_a_record_without_result_is_written_as_it_was_read(record):
    assert render(parsed(record)) == record


@each(RECORDS.values())
def test_the_result_stands_behind_what_was_read(record):
    assert render(with_result(parsed(record))) == f"{record[:-1]}, {PSEUDO}, {LATTICE}}}"


@each(RECORDS.values())
def test_expanding_what_was_expanded_gives_the_same_bytes(record):
    once = render(with_result(parsed(record)))
    assert render(with_result(parsed(once))) == once


@each(RECORDS.values())
def test_an_expanded_record_is_written_as_it_was_read(record):
    once = render(with_result(parsed(record)))
    assert render(parsed(once)) == once


@pytest.mark.parametrize(
    "record",
    [
        f'{{{OLD_PSEUDO}, {OLD_LATTICE}, "source": 1, "references": ["a"], "x": 1.10}}',
        f'{{"source": 1, {OLD_PSEUDO}, "references": ["a"], {OLD_LATTICE}, "x": 1.10}}',
        f'{{"source": 1, "references": ["a"], "x": 1.10, {OLD_LATTICE} , {OLD_PSEUDO}}}',
        f'{{"source": 1, "references": ["a"], "x": 1.10, {OLD_PSEUDO.replace("p", chr(92) + "u0070", 1)}}}',
        '{"source": 1, "references": ["a"], "x": 1.10, "lattice": null, "pseudo_references": null}',
    ],
    ids=["in front", "in between", "behind", "escaped", "null"],
)
def test_an_old_result_is_replaced_wherever_it_stands(record):
    expected = f'{{"source": 1, "references": ["a"], "x": 1.10, {PSEUDO}, {LATTICE}}}'
    assert render(with_result(parsed(record))) == expected


def test_an_example_that_was_never_in_a_file_is_written_under_the_names_of_its_fields():
    example = Example("7", {"image": 3}, (Reference("a cat"), Reference("café", 2.5)))
    assert render(example) == (
        '{"id": "7", "source": {"image": 3}, "references": ["a cat", {"text": "café", "weight": 2.5}]}'
    )
    written = json.loads(render(with_result(example), Fields("key", "prompt", "answers")))
    assert list(written) == ["key", "prompt", "answers", "pseudo_references", "lattice"]


def test_an_example_that_was_never_in_a_file_is_read_again_as_it_was():
    example = with_result(Example("7", "s", (Reference("a cat"), Reference("café", 2.5))))
    assert parsed(render(example)) == replace(
        example, pseudo_references=(PseudoReference("a “dog”", 97.12), *example.pseudo_references[1:])
    )


def test_a_fluency_stands_between_score_and_repeat_with_four_decimals():
    pseudo = PseudoReference("a dog", 97.1, fluency=-2.31449), PseudoReference("a", 100.0, repeat=True, fluency=-3.0)
    text = render(replace(parsed(RECORDS["plain"]), pseudo_references=pseudo))
    assert text == (
        RECORDS["plain"][:-1] + ', "pseudo_references": [{"text": "a dog", "bleu": 97.1, "fluency": -2.3145}, '
        '{"text": "a", "bleu": 100.0, "fluency": -3.0, "repeat": true}]}'
    )
    assert parsed(text).pseudo_references == (pseudo[0]._replace(fluency=-2.3145), pseudo[1])
    assert render(parsed(text)) == text


def test_judgements_stand_in_their_order_with_four_decimals_and_crossings_as_a_whole_number():
    pseudo = PseudoReference("a", 97.1, True, risk=1.00006, crossings=3, content=2 / 3, fluency=-1.0)
    text = render(replace(parsed(RECORDS["plain"]), pseudo_references=(pseudo,)))
    judged = '"fluency": -1.0, "content": 0.6667, "crossings": 3, "risk": 1.0001'
    assert text.endswith(f'[{{"text": "a", "bleu": 97.1, {judged}, "repeat": true}}]}}')
    assert parsed(text).pseudo_references == (pseudo._replace(content=0.6667, risk=1.0001),)
    assert render(parsed(text)) == text


@pytest.mark.parametrize("name", ["fluency", "content", "risk"])
@pytest.mark.parametrize("value", [0, 0.0, -0.0, -0.00001])
def test_a_judgement_that_rounds_to_zero_has_no_sign(name, value):
    pseudo = (PseudoReference("a dog", 97.1, **{name: value}),)
    assert f'"{name}": 0.0}}' in render(replace(parsed(RECORDS["plain"]), pseudo_references=pseudo))


def test_a_result_with_no_pseudo_references_is_written_too():
    example = replace(parsed(RECORDS["plain"]), lattice=LatticeSummary(1, None, exact=False))
    assert render(example).endswith(
        '["a cat"], "pseudo_references": [], '
        '"lattice": {"sentences": "1", "log10_sentences": 0.0, "penalty": null, "exact": false}}'
    )


def test_a_count_of_five_thousand_digits_is_written_and_read_to_the_last_one():
    number = 10**5000 + 7
    example = replace(parsed(RECORDS["plain"]), lattice=LatticeSummary(number, None, exact=True))
    text = render(example)
    assert f'"sentences": "1{"0" * 4999}7", "log10_sentences": 5000.0' in text
    assert parsed(text).lattice == LatticeSummary(number, None, exact=True)


# -- what a program has changed since it was read -------------------------------------------------------------------

READ = '{"z": 1.10, "id": 7, "references": [{"text": "a", "by": "Ann"}, "b"], "source":  {"image": 3}, "x": "\\u00e9"}'


@pytest.mark.parametrize(
    ("change", "old", "new"),
    [
        ({"id": "8"}, "7", '"8"'),
        ({"source": "s"}, '{"image": 3}', '"s"'),
        ({"source": None}, '{"image": 3}', "null"),
        ({"references": (Reference("c", 2.0),)}, '[{"text": "a", "by": "Ann"}, "b"]', '[{"text": "c", "weight": 2.0}]'),
        (
            {"references": (Reference("b"), Reference("a"))},
            '[{"text": "a", "by": "Ann"}, "b"]',
            '["b", {"text": "a", "by": "Ann"}]',
        ),
    ],
    ids=["id", "source", "no source", "other references", "another order"],
)
def test_what_was_replaced_is_written_in_its_place_and_all_else_to_the_letter(change, old, new):
    assert render(replace(parsed(READ), **change)) == READ.replace(old, new)


def test_an_id_that_the_record_does_not_have_comes_behind_the_others():
    record = '{"source": 1, "references": ["a"]}'
    assert render(replace(parsed(record), id="x")) == '{"source": 1, "references": ["a"], "id": "x"}'


@pytest.mark.parametrize(("source", "other"), [(1, True), (1, 1.0), ("1", 1), ([], ())])
def test_sources_that_only_python_takes_for_equal_are_told_apart(source, other):
    record = json.dumps({"source": source, "references": ["a"]})
    changed = json.loads(render(replace(parsed(record), source=other)))["source"]
    assert (changed, type(changed)) == (other if other != () else [], type(other) if other != () else list)


def test_a_changed_example_has_its_new_result_behind_it():
    changed = replace(with_result(parsed(READ)), references=(Reference("c"),))
    assert (
        render(changed) == READ.replace('[{"text": "a", "by": "Ann"}, "b"]', '["c"]')[:-1] + f", {PSEUDO}, {LATTICE}}}"
    )


@pytest.mark.parametrize(
    "record", ['{"source": "s", "references": ["old"], "x": 1}', '{"x": 1}', "{}", "[]", "broken", ""]
)
def test_a_record_that_a_program_has_put_together_gives_way_to_the_example(record):
    example = Example("7", "s", (Reference("new"),), record=record)
    written = json.loads(render(example))
    assert (written["id"], written["source"], written["references"]) == ("7", "s", ["new"])
    assert ("x" in written) == ("x" in record)


KEPT = KeptLattice(((1, 2), (1, 3)), "words", True)
KEPT_JSON = '"kept": {"states":[[1,2],[1,3]],"tokenizer":"words","fold_case":true}}'


@pytest.mark.parametrize(
    ("rules", "written"),
    [(None, ""), ((), ',"rules":[]'), (((0, -1, 0), (1, 2, 0, 2)), ',"rules":[[0,-1,0],[1,2,0,2]]')],
)
def test_a_kept_lattice_is_written_closely_and_read_again(rules, written) -> None:
    gold = (Reference("a b"), Reference("a c"))
    made = Example("x", 1, gold, lattice=LatticeSummary(2, None, exact=True, kept=replace(KEPT, rules=rules)))
    text = render(made)
    assert text.endswith(f'"penalty": null, "exact": true, {KEPT_JSON[:-2]}{written}}}}}}}')
    again = parsed(text)
    assert again.lattice == made.lattice
    assert render(again) == text


def test_a_kept_lattice_goes_with_the_references_that_it_was_kept_of() -> None:
    read_again = parsed(f'{{"source": 1, "references": ["a b", "a c"], {OLD_LATTICE[:-1]}, {KEPT_JSON}}}')
    assert read_again.lattice is not None
    assert read_again.lattice.kept == KEPT
    assert '"kept"' not in render(replace(read_again, references=read_again.references[:1]))


def test_a_lattice_without_a_kept_one_may_say_so() -> None:
    lattice = f'{OLD_LATTICE[:-1]}, "kept": null}}'
    assert parsed(f'{{"source": 1, "references": ["a"], {lattice}}}').lattice == LatticeSummary(5, None, exact=False)
