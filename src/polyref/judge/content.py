"""The rules of an example: what each of its sentences must say and must not say, as its gold references set it.

In:   a lattice, and what is known of the words of its file.
Out:  Rules for the search; why a sentence is left out, in words.
Not:  applying them (lattice/), counting a file (usage.py).

Content: no word more often than the gold reference that says it most says it, unless people often repeat it; every word
that all gold references say; as many negations as gold has. Words of one stem, words that alignment linked, and
alternatives count as one word. Form: brackets and quotes are balanced as gold has them, and punctuation or case alone
make no new sentence. The references themselves keep every rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from operator import add
from typing import Any, Literal

import numpy as np

from polyref.errors import InputError
from polyref.judge.usage import BRACKETS, QUOTES, Facts, Usage, facts_of
from polyref.lattice import Lattice, Rule, Rules
from polyref.lattice.plain.rules import MARKS, NO_LIMIT, TWICE, numbered
from polyref.settings import setting, settings

_MOST_COMPILED = 500  # distinct words: the kernel's table of words that count as the same has the square of that
_NO_STATES = np.zeros(0, np.int32)
_CARRIES = 5  # letters: shorter words are often repeated or left out without harm
Judge = Literal["bleu", "content", "seams"]


@settings(group="Pseudo-references")
class JudgeSettings:
    """What a sentence must be beside a good one by BLEU."""

    judge: Judge = setting(
        "content",
        "Rules: none, of content, and of seams.",
        more="bleu: by BLEU alone; content: leave out what says something twice, loses something or leaves brackets "
        "open; seams: and what a language model finds ill-joined.",
    )


def rules_of(lattice: Lattice, usage: Usage) -> Rules:
    """The rules of an example."""
    kernels = lattice.engine.content
    if kernels is not None and len(lattice.numbering.vocabulary) <= _MOST_COMPILED:
        return _compiled_rules(lattice, usage, kernels)
    facts = list(map(facts_of, lattice.numbering.vocabulary))
    rules, shared = _content(lattice, usage, facts)
    return Rules((*rules, *_form(lattice, facts)), _same_but_case(lattice, facts), shared)


def _compiled_rules(lattice: Lattice, usage: Usage, kernels: Any) -> Rules:
    """The same. Most examples have neither brackets nor quotes, so that the kernel does without them."""
    tables, vocabulary = usage.tables, lattice.numbering.vocabulary
    rows = tables.rows(vocabulary)
    after = _NO_STATES if lattice.penalty is None else np.array(lattice.after, np.int32)
    words, starts = lattice.numbering.arrays
    arcs, own, known = lattice.automaton.arrays[1], np.array(rows, np.int32), kernels.Tables(*tables.arrays)
    rules, same, shared = kernels.content_rules(words, starts, after, arcs, own, known)
    if not tables.paired.isdisjoint(rows) or not lattice.text.fold_case:
        facts = list(map(facts_of, vocabulary))
        rules = np.concatenate([rules, numbered(_form(lattice, facts))])
        same = np.array(_same_but_case(lattice, facts), np.int32)
    return Rules.of_arrays(rules, same, shared)


def kept_rules(rules: Rules) -> tuple[tuple[int, ...], ...]:
    """What a KeptLattice keeps of them: form is known from the references."""
    return tuple(
        [
            (rule.least, -1 if rule.most == NO_LIMIT else rule.most, *rule.adding)
            for rule in rules.rules
            if rule.cause == TWICE
        ]
    )


def restored_rules(lattice: Lattice, kept: Sequence[tuple[int, ...]]) -> Rules:
    """The rules of a lattice that was kept with them; an InputError where they cannot be its own."""
    size, references = len(lattice.numbering.vocabulary), lattice.numbering.references
    content = [Rule(TWICE, least, NO_LIMIT if most < 0 else most, tuple(words)) for least, most, *words in kept]
    facts = list(map(facts_of, lattice.numbering.vocabulary))
    rules = Rules((*content, *_form(lattice, facts)), _same_but_case(lattice, facts))
    room = 2 * sum([1 + len(fact.parts) for fact in facts]) + 2  # more rules, or longer ones, no example has
    is_known = max([len(kept), *map(len, kept)]) <= room
    is_known = is_known and all(word < size for rule in content for word in rule.adding)
    if not is_known or any(rules.broken(reference) is not None for reference in references):
        problem, cure = "the kept rules do not fit its references", "expand again and keep lattices"
        raise InputError(problem, cure)
    return rules


# -- content ----------------------------------------------------------------------------------------------------------


def _content(
    lattice: Lattice, usage: Usage, facts: Sequence[Facts]
) -> tuple[list[Rule], tuple[tuple[tuple[int, ...], int], ...]]:
    """The rules, and what most references say."""
    references, size = lattice.numbering.references, len(lattice.numbering.references)
    said = [[0] * size for _ in facts]  # for each word, how often each reference says it
    for place, reference in enumerate(references):
        for word in reference:
            said[word][place] += 1
    spelled: dict[str, tuple[int, ...]] = {}  # for each part of a word, the words that have it
    columns: dict[str, list[int]] = {}  # and how often each reference says it
    for number, fact in enumerate(facts):
        for part in fact.parts:
            if part in spelled:
                spelled[part] += (number,)
                columns[part] = list(map(add, columns[part], said[number]))
            else:
                spelled[part], columns[part] = (number,), said[number]
    holding = {part: size - column.count(0) for part, column in columns.items()}  # references that say it
    # No path says a word more often than there are arcs with it: most limits cannot be broken, and are left out.
    arcs = Counter(lattice.automaton.word)
    alike = _alike(lattice, usage, facts, holding)
    rules: list[Rule] = []
    shared: list[tuple[tuple[int, ...], int]] = []  # what most say, in these or other words, and how many of them
    limits: dict[tuple[str, ...], int] = {}  # of what counts as the same
    for part, words in spelled.items():
        count, group = holding[part], alike.get(part)
        on_arcs = arcs[words[0]] if len(words) == 1 else sum([arcs[word] for word in words])
        if group is None and on_arcs == 1 and 2 * count <= size:
            continue  # what most words are
        most = max(columns[part])
        is_bound = on_arcs > most and not usage.may_repeat(part)
        if group is None:
            if 2 * count > size and not usage.repeated.get(part):
                shared.append((words, count))
        elif group in limits:
            is_bound = is_bound and limits[group] > most  # what a group is limited to, its words are, too
        else:
            sums = columns[group[0]]
            for other in group[1:]:
                sums = list(map(add, sums, columns[other]))
            together, saying = max(sums), size - sums.count(0)
            spellings = tuple([word for other in group for word in spelled[other]])
            is_bound = is_bound and together > most
            limits[group] = together if sum([arcs[word] for word in spellings]) > together else NO_LIMIT
            is_needed = saying == size and size not in [holding[other] for other in group]
            if is_needed or limits[group] < NO_LIMIT:
                rules.append(Rule(TWICE, int(is_needed), limits[group], spellings))
            if 2 * saying > size:
                shared.append((spellings, saying))
        if is_bound or count == size:
            rules.append(Rule(TWICE, int(count == size), most if is_bound else NO_LIMIT, words))
    negations = tuple([number for number, fact in enumerate(facts) if fact.negates])
    if negations:
        rules.append(_as_gold(Rule(TWICE, 0, 0, negations), references))
    return rules, tuple(shared)


def _alike(
    lattice: Lattice, usage: Usage, facts: Sequence[Facts], holding: dict[str, int]
) -> dict[str, tuple[str, ...]]:
    """For each part of a word that has any, the parts that count as the same, itself included; in a fixed order."""
    parts, size, relatives = holding.keys(), len(lattice.numbering.references), usage.relatives
    relatives.learn(parts)
    found: dict[str, set[str]] = {}
    for part, count in holding.items():
        known = relatives[part]
        if known and not parts.isdisjoint(known):
            here = [other for other in known if other in holding]
            group = {other for other in here if count * holding[other] <= known[other] * size}
            if group:
                found[part] = {part, *group}
    for linked in _linked(lattice):
        others = {part for word in linked for part in facts[word].parts}
        # A word that people repeat stands for no other: "a" may be linked with "hotel".
        others = {part for part in others if not usage.may_repeat(part)}
        if len(others) > 1:
            for part in others:
                found.setdefault(part, set()).update(others)
    return {part: tuple(sorted(group)) for part, group in found.items()}


def _linked(lattice: Lattice) -> list[set[int]]:
    """The sets of different words that stand between the same two states."""
    if lattice.penalty is None:
        return []  # hard alignment links equal words only
    between: dict[tuple[int, int], set[int]] = {}
    for (start, end), reference in zip(pairwise(lattice.numbering.starts), lattice.numbering.references, strict=True):
        behind = lattice.after[start:end]
        for states, word in zip(zip((0, *behind), behind, strict=False), reference, strict=True):
            between.setdefault(states, set()).add(word)
    return [words for words in between.values() if len(words) > 1]


# -- form -------------------------------------------------------------------------------------------------------------


def _form(lattice: Lattice, facts: Sequence[Facts]) -> list[Rule]:
    references, vocabulary = lattice.numbering.references, lattice.numbering.vocabulary
    numbers = {vocabulary[number]: number for number, fact in enumerate(facts) if fact.is_paired}
    rules: list[Rule] = []
    if not numbers:
        return rules
    for left, right in BRACKETS.items():
        adding, taking = ((numbers[mark],) if mark in numbers else () for mark in (left, right))
        if adding or taking:
            rules.append(_as_gold(Rule(MARKS, 0, 0, adding, taking), references))
    for quotes in QUOTES:
        known = tuple([numbers[mark] for mark in quotes if mark in numbers])
        if known:
            rules.append(_as_gold(Rule(MARKS, 0, 0, known, parity=True), references))
    return rules


def _as_gold(rule: Rule, references: Sequence[tuple[int, ...]]) -> Rule:
    held = list(map(rule.holds, references))
    return rule._replace(least=min(held), most=max(held))


def _same_but_case(lattice: Lattice, facts: Sequence[Facts]) -> tuple[int, ...]:
    if lattice.text.fold_case:
        return tuple([-1 if fact.is_mark else number for number, fact in enumerate(facts)])
    first: dict[str, int] = {}
    words = enumerate(lattice.numbering.vocabulary)
    return tuple([-1 if facts[number].is_mark else first.setdefault(word.casefold(), number) for number, word in words])


def is_clear(lattice: Lattice, rule: Rule, sentence: Sequence[int]) -> bool:
    """Whether the rule that a sentence breaks is about words that carry meaning, and not about "in", "with" or "a"."""
    if rule.cause == MARKS:
        return True
    vocabulary, is_lost = lattice.numbering.vocabulary, rule.holds(sentence) < rule.least
    about = [vocabulary[word] for word in rule.adding if is_lost or word in sentence]
    # Scripts without capitals have short words that mean much.
    carry = [len(word) >= _CARRIES or word.upper() == word.lower() or facts_of(word).negates for word in about]
    return any(carry) if is_lost else all(carry)


# -- in words ---------------------------------------------------------------------------------------------------------


def explain(lattice: Lattice, words: Sequence[str]) -> str | None:
    """Why a sentence of the lattice is left out by its rules; None if it is not."""
    rules = lattice.rules or Rules((), tuple(range(len(lattice.numbering.vocabulary))))
    vocabulary = lattice.numbering.vocabulary
    numbers = {word: number for number, word in enumerate(vocabulary)}
    sentence = [numbers[word] for word in words]
    if tuple(sentence) in lattice.numbering.references:
        return "it is a reference itself"
    rule = rules.broken(sentence)
    if rule is None:
        same = rules.core(sentence) in set(map(rules.core, lattice.numbering.references))
        return "differs from a reference by punctuation or case alone" if same else None
    held = rule.holds(sentence)
    named = list(dict.fromkeys([vocabulary[word] for word in (*rule.adding, *rule.taking)]))
    if rule.cause == MARKS:
        return f"leaves {_listed(named)} open"
    if held < rule.least:
        return f"does not say {_listed(named, 'or')}, which every reference says"
    heard = [vocabulary[word] for word in sentence for other in rule.adding if word == other]
    if len(set(heard)) == 1:
        often = "twice" if held == 2 else f"{held} times"
        return (
            f'says "{heard[0]}" {often if rule.most == 1 else f"{held} times, and no reference more than {rule.most}"}'
        )
    return f"says {_listed(list(dict.fromkeys(heard)))}, which count as the same"


def _listed(words: Sequence[str], joint: str = "and") -> str:
    quoted = [f'"{word}"' for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} {joint} {quoted[-1]}"
