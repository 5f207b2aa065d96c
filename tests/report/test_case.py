"""The case study of a report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import polyref
from polyref.errors import InputError
from polyref.report.case import find_case
from polyref.report.forms import as_markdown


@pytest.fixture(scope="module")
def expanded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some sample examples, expanded by hard alignment, with their lattices."""
    path = tmp_path_factory.mktemp("data") / "expanded.jsonl"
    examples = polyref.sample_examples()[:12]
    settings = polyref.ExpandSettings(per_example=20, keep_lattice=True)
    polyref.write(polyref.expand(examples, settings=settings), path)
    return path


def without_lattices(expanded: Path, tmp_path: Path, **changes: object) -> Path:
    path = tmp_path / "given.jsonl"
    records = [json.loads(line) for line in expanded.read_text("utf-8").splitlines()]
    for one in records:
        del one["lattice"]["kept"]
        one["lattice"] |= changes
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path


def test_the_example_with_the_most_sentences_is_taken(expanded: Path):
    largest = max(polyref.read(expanded), key=lambda one: one.lattice.sentences)
    case = find_case(expanded)
    assert case.title.startswith(f"The example with the most sentences in its lattice: {largest.id}, ")
    assert case.table.rows[0][0].text == "A"
    assert case.table.rows[0][1].text == largest.references[0].text
    assert case.table.numbers[0]["text"] == largest.pseudo_references[0].text
    assert case.svg.startswith("<svg")


def test_the_example_with_an_id_is_taken(expanded: Path):
    example = list(polyref.read(expanded))[3]
    assert find_case(expanded, example.id).title.startswith(f"An example: {example.id}, ")


def test_of_many_pseudo_references_the_first_and_last_are_shown(expanded: Path):
    example = next(one for one in polyref.read(expanded) if len(one.pseudo_references) > 10)
    table = find_case(expanded, example.id).table
    ranks = [row[0].text for row in table.rows[len(example.references) :]]
    last = len(example.pseudo_references)
    assert ranks == ["1", "2", "3", "4", "…", *map(str, range(last - 3, last + 1))]
    assert "| … | … | … |" in as_markdown(table)


def test_a_hard_lattice_that_was_not_kept_is_built_again(expanded: Path, tmp_path: Path):
    assert find_case(without_lattices(expanded, tmp_path)).svg == find_case(expanded).svg


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"penalty": 0.5}, r'given.jsonl:\d+: the file does not keep the lattice of ".*"; expand with --keep-lattice'),
        ({"sentences": "77777"}, r"given.jsonl:\d+: the lattice of .* other settings than the defaults; expand with"),
    ],
)
def test_a_lattice_that_cannot_be_built_again_is_an_error(expanded: Path, tmp_path: Path, changes, says):
    with pytest.raises(InputError, match=says):
        find_case(without_lattices(expanded, tmp_path, **changes))


def test_a_file_without_such_an_example_is_an_error(expanded: Path):
    with pytest.raises(InputError, match='there is not an example with the id "none" with a lattice; give a file that'):
        find_case(expanded, "none")
