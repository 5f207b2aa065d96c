"""The training set of a recipe is expanded once, for all that want it expanded in the same way."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from pathlib import Path

import made_up
import pytest
from polyref.experiment.cures import in_recipe_words
from polyref.experiment.expanding import expanded

from polyref.data import Fields, open_output, read
from polyref.data.corpus import Corpus
from polyref.errors import InputError, OutputError, SettingsError
from polyref.experiment import expanding
from polyref.experiment.recipe import ExpandSection, ScheduleSection
from polyref.feed import Stream
from polyref.fresh import FreshSettings

FIVE = ExpandSection(per_example=5)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return made_up.write(tmp_path / "train.jsonl", made_up.records(4))


def test_without_a_number_of_references_the_file_stays_as_it_is(path: str, tmp_path: Path):
    assert expanded(path, tmp_path, ExpandSection(), Fields()) == path


def test_two_stages_share_what_is_expanded(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first = expanded(path, tmp_path, FIVE, Fields())
    assert all(len(example.pseudo_references) == 2 for example in read(first))
    monkeypatch.setattr(expanding, "expand_file", lambda job: pytest.fail("expanded twice"))
    assert expanded(path, tmp_path, ExpandSection(per_example=5, workers=2), Fields()) == first


def test_what_another_run_is_still_writing_is_not_taken(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    class StoppedError(Exception):
        pass

    with ExitStack() as other:

        def half_way(job: expanding.Job) -> None:
            other.enter_context(open_output(job.output)).write(b"{")
            raise StoppedError

        with monkeypatch.context() as patch, pytest.raises(StoppedError):
            patch.setattr(expanding, "expand_file", half_way)
            expanded(path, tmp_path, FIVE, Fields())
        assert len(list(read(expanded(path, tmp_path, FIVE, Fields())))) == 4
        other.pop_all()


def test_two_runs_that_expand_at_once_get_the_same(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    expand_file = expanding.expand_file
    seen: list[bytes] = []

    def together(job: expanding.Job) -> None:
        expand_file(job)  # the other run is faster
        seen.append(Path(job.output).read_bytes())
        expand_file(job)

    monkeypatch.setattr(expanding, "expand_file", together)
    assert [Path(expanded(path, tmp_path, FIVE, Fields())).read_bytes()] == seen


def test_other_ways_other_fields_and_other_files_have_other_names(path: str, tmp_path: Path):
    records = [{"prompt": f"other {record['source']}", **record} for record in made_up.records(3)]
    both = made_up.write(tmp_path / "both.jsonl", iter(records))
    found = [
        expanded(both, tmp_path, FIVE, Fields()),
        expanded(both, tmp_path, ExpandSection(per_example=4), Fields()),
        expanded(both, tmp_path, FIVE, Fields(source="prompt")),
        expanded(path, tmp_path, FIVE, Fields()),
    ]
    os.utime(path, ns=(1, 1))
    assert len({*found, expanded(path, tmp_path, FIVE, Fields())}) == 5


def test_an_encoder_that_was_trained_anew_is_another_one(path: str, tmp_path: Path):
    table = tmp_path / "vectors.txt"
    soft = ExpandSection(per_example=5, align="soft", encoder=f"vectors:{table}", similarity="cosine")
    words = [word for record in made_up.records(4) for text in record["references"] for word in text.split()]
    found = []
    for number in ("1.0", "0.5"):
        table.write_text(
            "".join(f"{word} {len(word)} {number} {place}\n" for place, word in enumerate(sorted({*words})))
        )
        found.append(expanded(path, tmp_path, soft, Fields()))
    assert found[0] != found[1]


def test_hard_alignment_asks_no_encoder(path: str, tmp_path: Path):
    """As where a grid goes through both alignments."""
    other = ExpandSection(per_example=5, encoder="/gone")
    assert expanded(path, tmp_path, other, Fields()) == expanded(path, tmp_path, FIVE, Fields())


def test_parallel_text_is_expanded_under_its_one_name(tmp_path: Path):
    for suffix, lines in (("src", "who\n"), ("ref0", "a cat sits here today\n"), ("ref1", "one cat is here today\n")):
        (tmp_path / f"text.{suffix}").write_text(lines)
    [example] = read(expanded(str(tmp_path / "text"), tmp_path, FIVE, Fields()))
    assert example.pseudo_references


def test_the_cure_is_a_key_of_a_recipe(tmp_path: Path, path: str):
    with pytest.raises(InputError, match=r"or name another key with data\.source_field \(the keys"):
        expanded(path, tmp_path, FIVE, Fields(source="prompt"))
    with pytest.raises(InputError, match=r"gone\.jsonl: cannot be opened"):
        expanded(str(tmp_path / "gone.jsonl"), tmp_path, FIVE, Fields())


@pytest.mark.parametrize(
    ("said", "cure"),
    [
        ("name another with --references-field (a)", "name another with data.references_field (a)"),
        ("make it with polyref expand --keep-lattice", "set expand.per_example, and expand.keep_lattice = true"),
        ("run polyref expand --keep-lattice again", "set expand.per_example, and expand.keep_lattice = true"),
        ("use --similarity cosine", "use expand.similarity = cosine"),
        ("give some", "give some"),
    ],
)
def test_cures_are_translated_once(said, cure):
    for kind in (SettingsError, OutputError):
        with pytest.raises(kind) as refused, in_recipe_words(), in_recipe_words():
            raise kind(f"wrong; {said}")
        assert str(refused.value) == f"wrong; {cure}"
    with pytest.raises(InputError) as wrong, in_recipe_words(), in_recipe_words():
        raise InputError("wrong", said, file="a", line=3)
    assert str(wrong.value) == f"a:3: wrong; {cure}"


def test_the_rooms_still_say_what_is_translated(tmp_path: Path):
    """Were they to say it otherwise, the option of another command would come through."""
    made = tmp_path / "plain.jsonl"
    made.write_text(json.dumps({"source": "a", "references": ["b c", "b d"]}) + "\n")
    settings = ScheduleSection(fresh=FreshSettings(3)).settings(0)
    with pytest.raises(InputError) as refused, in_recipe_words():
        Stream(Corpus.of(read(made)), settings)
    assert str(refused.value).endswith("; set expand.per_example, and expand.keep_lattice = true")
