"""The scores of polyref's judges on items, and what they leave, on made-up text; the data sets are not needed."""

import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.choosing import items as items_module
from benchmarks.choosing import left
from benchmarks.choosing.evaluate import (
    RULES,
    Case,
    bad_kept,
    by_cause,
    content,
    good_lost,
    interval,
    load_cases,
    main,
    score,
    seams,
    tables,
)
from benchmarks.choosing.items import SETS, Item, Label, how_written, text_hash
from benchmarks.choosing.left import slot_faults, word_faults
from benchmarks.choosing.sample import places, write_lines
from polyref import Example, Lattice, PseudoReference, Reference, SearchSettings
from polyref.judge import Usage, rules_of
from polyref.text import TextSettings, tokenize

REFERENCES = (
    'The "Old Mill" is a cheap pub by the river (in town).',
    'By the river (in town) is a cheap pub called "Old Mill".',
)
PAINTED = (
    "A black cat sat on the mat (a red one).",
    "A cat sat there on a red mat.",
    "On the red mat sat a black cat.",
)
IS_GOOD = Label("good")


def case(
    sentence: str,
    label: Label = IS_GOOD,
    risk: float = 0.0,
    part: str = "test",
    references: tuple[str, ...] = REFERENCES,
) -> Case:
    lattice = Lattice.from_references(references)
    item = Item("coco", "1", part, "hard", references, sentence, 50.0, (), {"settled": label})
    words = tokenize(sentence, TextSettings()).words
    lattice.rules = rules_of(lattice, Usage(repeated={"the": True, "is": True}))
    return Case(item, lattice, words, risk)


TWICE = 'The "Old Mill" is a cheap pub by the river (in town) called "Old Mill".'
LOST = 'The "Old Mill" is a pub by the river (in town).'
OPEN = 'The "Old Mill" is a cheap pub by the river (in town.'
SAME = 'the "Old Mill" is a cheap pub by the river, in town'.replace(",", "")
GOOD = 'By the river (in town) "Old Mill" is a cheap pub.'


@pytest.mark.parametrize(
    "sentence, causes",
    [
        (TWICE, {"twice"}),
        (LOST, {"lost"}),
        (OPEN, {"marks", "same"}),
        (SAME, {"same"}),
        (GOOD, set()),
        ('The "Old Mill" is a pub called "Old Mill by the river in town', {"twice", "lost", "marks"}),
    ],
)
def test_each_cause_of_the_rules_is_told(sentence, causes):
    one = case(sentence)
    assert one.causes == causes
    assert [RULES[f"not {cause}"](one) for cause in ("twice", "lost", "marks", "same")] == [
        cause not in causes for cause in ("twice", "lost", "marks", "same")
    ]
    assert content(one) == (not causes) == (one.why is None)


def test_no_cause_means_that_the_search_finds_it():
    lattice = case(PAINTED[0], references=PAINTED).lattice
    every = {one.text for one in lattice.sentences()}
    found = set(lattice.texts(lattice.search(len(every), SearchSettings())))
    passing = {text for text in every if content(case(text, references=PAINTED))}
    assert found and found <= passing < every
    # Of sentences that differ by marks and case alone, the search takes one.
    bare = [{re.sub(r"[^a-z]", "", text.lower()) for text in some} for some in (found, passing)]
    assert bare[0] == bare[1]


def test_seams_pass_up_to_the_limit_if_content_passes():
    assert [seams(4.0)(case(GOOD, risk=risk)) for risk in (0.0, 4.0, 4.0001)] == [True, True, False]
    assert not seams(4.0)(case(TWICE))


def test_scores_count_the_bad_among_the_kept_and_the_good_among_the_lost():
    kept = np.array([True, True, False, False])
    bad, good = np.array([True, False, True, False]), np.array([False, True, False, True])
    assert (bad_kept(kept, bad), good_lost(kept, good)) == (0.5, 0.5)
    assert (bad_kept(~kept & kept, bad), good_lost(kept, ~good & good)) == (0, 0)
    low, high = interval(bad_kept, kept, bad)
    assert 0 <= low <= 0.5 <= high <= 1


def test_a_rule_of_ones_own_is_scored():
    cases = [case(TWICE, Label("bad", ("twice",))), case(GOOD)]
    table = score("Mine", {"short": lambda one: len(one.words) < 18, "all": lambda one: True}, cases)
    assert [row[:2] for row in table.rows] == [["short", "1 of 2"], ["all", "2 of 2"]]
    assert [row[2].split()[0] for row in table.rows] == ["0.0%", "50.0%"]


def test_the_tables_tell_parts_groups_and_causes():
    bad = Label("bad", ("grammar", "lost"))
    cases = [case(GOOD, bad, 9.0, "develop"), case(GOOD, part="fresh"), case(LOST, bad), case(GOOD, part="default")]
    found = tables(cases)
    assert [table.title for table in found[:5]] == [
        "Part develop", "Part fresh", "Part test", "Part default",
        "All that BLEU alone has drawn: develop, fresh, test",
    ]  # fmt: skip
    assert {row[0]: row[1] for row in found[4].rows}["content"] == "2 of 3"
    assert [row[0] for row in found[5].rows] == ["coco", "hard"]
    causes = by_cause({name: RULES[name] for name in ("everything", "content", "seams")}, cases)
    counts = {row[0]: row[1:] for row in causes.rows}
    assert counts["grammar"] == counts["lost"] == counts["all"] == ["2", "1", "0"]
    assert counts["twice"] == ["0", "0", "0"]


def data_set(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One item in the place of COCO, with labels."""
    text = "A black cat sat there on a red mat."
    words = places(PAINTED, "hard", text)
    spaces, cases = how_written(PAINTED, words, text)
    entry = {
        "set": "coco", "id": "7", "part": "test", "method": "hard", "references": 3,
        "references_hash": text_hash(PAINTED), "words": words, "spaces": spaces, "cases": cases,
        "hash": text_hash([text]), "bleu": 50.0, "settled": {"label": "good", "causes": []},
    }  # fmt: skip
    unread = {**{key: value for key, value in entry.items() if key != "settled"}, "part": "new"}
    write_lines(folder / "items.jsonl", [entry, unread])
    monkeypatch.setattr(items_module, "__file__", str(folder / "items.py"))
    (folder / "coco-val2017").mkdir()
    write_lines(folder / SETS["coco"], [{"id": "7", "source": "", "references": PAINTED}])


def test_cases_are_items_that_were_read(tmp_path: Path, monkeypatch, capsys):
    data_set(tmp_path, monkeypatch)
    [one] = load_cases(tmp_path)
    assert one.item.sentence == "A black cat sat there on a red mat." and one.risk > 0
    main(["--data", str(tmp_path)])
    shown = capsys.readouterr().out
    assert "Part test" in shown and "seams: by set and method" in shown
    with pytest.raises(SystemExit):
        main(["--data", str(tmp_path), "--part", "new"])


# -- what is left -----------------------------------------------------------------------------------------------------


def test_faults_are_told_by_slots_and_by_words():
    gold = (Reference("The Mill is cheap."), Reference("Cheap is The Mill's pie."))
    pseudo = tuple(
        [PseudoReference(text, 50.0) for text in ("The Mill is the mill.", "It is cheap.", "The Mill's, cheap")]
    )
    example = Example("1", "name[The Mill], priceRange[cheap]", gold, pseudo)
    assert slot_faults(example) == {"twice": 1, "lost": 2, "name": 1}
    gold = (Reference("The mill is cheap."), Reference("Cheap is the mill."))
    assert word_faults(Example("1", "", gold, pseudo[:2])) == {"twice": 1, "lost": 2}


def test_what_is_left_is_told_for_each_judge(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setattr(left, "SETS", {"cats": ("cats.jsonl", 3)})
    monkeypatch.setattr(left, "WANTED", 200)
    monkeypatch.setattr("polyref.judge.choice.LIMIT", 1.0)
    write_lines(tmp_path / "cats.jsonl", [{"id": "1", "source": "name[cat]", "references": [*PAINTED, "A dog."]}])
    left.main(["--data", str(tmp_path), "--align", "hard"])
    rows = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines() if "cats:" in line]
    assert [row[0].strip() for row in rows] == ["cats: bleu", "cats: content", "cats: seams"]
    counts = [int(row[2]) for row in rows]
    assert counts[0] > counts[1] > counts[2]
    assert not rows[0][5].strip() and "twice" in rows[1][5] and "seams" in rows[2][5]
