"""The page about a run: what it counts, which examples it shows, and what it says where it cannot know."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from statistics import median

import pytest

from polyref.data import sample_examples
from polyref.draw.run import RunFacts, run_page
from polyref.errors import InputError
from polyref.example import Example, Reference
from polyref.expansion import ExpandSettings, expand
from polyref.judge import JudgeSettings, Usage, explain, rules_of
from polyref.lattice import Lattice, PlainEngine
from polyref.text import TextSettings, tokenize

ENGLISH = sample_examples()[:12]
TEXT = TextSettings()


def page_of(examples: list[Example]) -> tuple[RunFacts, str]:
    facts = RunFacts(TEXT)
    assert list(facts.watch(examples)) == examples
    return facts, run_page(facts, examples, "<run>")


def expanded(**settings: object) -> list[Example]:
    return list(expand(ENGLISH, 10, settings=ExpandSettings(**settings), engine=PlainEngine()))


@pytest.fixture(scope="module")
def page() -> tuple[list[Example], RunFacts, str]:
    examples = expanded()
    return examples, *page_of(examples)


def test_the_facts_are_those_of_the_examples(page):
    examples, facts, _ = page
    pseudo = [one for example in examples for one in example.pseudo_references]
    assert facts.wanted == 10
    assert list(facts.kept) == [len(example.pseudo_references) for example in examples]
    assert facts.judged["bleu"].total() == facts.judged["crossings"].total() == len(pseudo)
    sizes = [example.lattice.sentences for example in examples]
    assert [round(10**size) for size in facts.sizes] == sizes
    assert f"<dd>{round(median(sizes)):,}</dd><dt>sentences per lattice (median)" in page[2]


def test_best_median_and_worst_examples_are_shown_with_their_maps(page):
    examples, facts, html = page
    chosen = facts.chosen()
    assert [len(numbers) for numbers in chosen.values()] == [3, 3, 3]
    means = [[facts.means[n] for n in numbers] for numbers in chosen.values()]
    assert min(means[0]) >= max(means[1]) and min(means[1]) >= max(means[2])
    titles = [examples[n].id for numbers in chosen.values() for n in numbers]
    assert re.findall(r'<h3 dir="auto">([^<]*)', html) == titles
    assert html.count('class="map"') == 9
    assert html.count('<details class="one" open>') == 1  # the best one


def test_the_page_needs_nothing_and_text_is_text(page):
    _, _, html = page
    assert "<h1>&lt;run&gt;</h1>" in html
    assert not re.search(r'(?:src|href)="|url\(|@import', html)


def test_what_rules_refuse_is_counted_among_the_choice_of_bleu():
    examples = expanded()
    alone = expanded(judging=JudgeSettings("bleu"))
    kept = sum(
        {one.text for one in judged.pseudo_references} >= {one.text for one in free.pseudo_references}
        for judged, free in zip(examples, alone, strict=True)
    )
    _, html = page_of(examples)
    [sentences, looked_at, refused] = re.findall(
        r"Of ([\d,]+) sentences that BLEU alone would choose for ([\d,]+) examples.* rules leave out ([\d,]+) ", html
    )[0]
    assert int(sentences) == sum(len(free.pseudo_references) for free in alone)
    assert int(looked_at) == len(examples) and int(refused) > 0 and kept < len(examples)
    by_cause = re.findall(r"<tr><td>([\d,]+)</td><td>(?:say|lose|leave|are)", html)
    assert sum(map(int, by_cause)) == int(refused)
    assert "chosen by BLEU alone" in page_of(alone)[1]


def test_what_is_lost_is_not_called_said_twice():
    usage = Usage.of([[tokenize(one.text, TEXT).words for one in example.references] for example in ENGLISH])
    said: Counter[str] = Counter()
    for example, free in zip(ENGLISH, expanded(judging=JudgeSettings("bleu")), strict=True):
        lattice = Lattice.from_references([one.text for one in example.references], engine=PlainEngine())
        lattice.rules = rules_of(lattice, usage)
        for pseudo in free.pseudo_references:
            said[(explain(lattice, lattice.sentence(pseudo.text).words) or "").partition(" ")[0]] += 1
    _, html = page_of(expanded())
    assert said["does"] > 0  # does not say
    assert f"<tr><td>{said['does']}</td><td>lose something" in html
    assert "say something twice" not in html  # none does
    assert said["says"] == 0


def test_soft_lattices_are_merged_again_with_the_penalty_of_the_file():
    examples = expanded(align=replace(ExpandSettings().align, align="soft"))
    assert page_of(examples)[1].count('class="map"') == 9
    other = [replace(one, lattice=replace(one.lattice, penalty=0.9)) for one in examples]
    html = page_of(other)[1]
    assert "No map: the lattice was made with other settings" in html


def test_kept_lattices_are_restored():
    settings = replace(ExpandSettings().align, align="soft", penalty=0.4)
    examples = expanded(align=settings, keep_lattice=True)
    unknown = [replace(one, lattice=replace(one.lattice, penalty=0.9)) for one in examples]
    assert page_of(unknown)[1].count('class="map"') == 9


def test_few_examples_are_enough():
    _, html = page_of(expanded()[:1])
    assert html.count("<h3") == 1
    short = Example("x", None, (Reference("red car"),))
    _, html = page_of(list(expand([short])))
    assert html.count("<h3") == 0 and "1 → 1" in html and "examples without a pseudo-reference" in html


def test_a_file_that_was_not_expanded_is_refused():
    with pytest.raises(InputError, match="not expanded; run polyref expand on it first"):
        list(RunFacts(TEXT).watch(ENGLISH))
