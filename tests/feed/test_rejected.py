"""What the rules of content leave out, as the rejected side of preferences."""

from __future__ import annotations

import json
import re

import pytest

from polyref import ExpandSettings, Lattice, expand, sample_examples
from polyref.errors import InputError
from polyref.feed import Stream, stream
from polyref.feed.huggingface import preference_dataset
from polyref.feed.lines import lines
from polyref.judge import JudgeSettings

EXPANDED = list(expand(sample_examples()[:16], settings=ExpandSettings(per_example=6, keep_lattice=True)))


def records(data: Stream, epoch: int = 0, **share: int) -> list[dict[str, str]]:
    found = lines(data, epoch, "preference", **share)
    return [json.loads(line) for [piece] in found for line in piece.splitlines()]


def test_what_is_rejected_is_a_new_sentence_of_the_same_lattice_that_breaks_a_rule():
    lattices = {one.source: Lattice.from_references([gold.text for gold in one.references]) for one in EXPANDED}
    good = {text.text for one in EXPANDED for text in (*one.references, *one.pseudo_references)}
    found = records(stream(EXPANDED, "uniform"))
    assert len(found) > 16
    for one in found:
        assert list(one) == ["prompt", "chosen", "rejected", "reason"]
        assert one["chosen"].strip() in good
        assert one["rejected"].strip() in lattices[one["prompt"]]
        assert one["rejected"].strip() not in good
        assert re.match("(says|does not say|leaves) ", one["reason"])


def test_what_is_rejected_is_about_as_long_as_what_is_chosen_and_changes_with_the_epoch():
    data = stream(EXPANDED, "uniform")
    found = [records(data, epoch) for epoch in range(2)]
    assert found[0] != found[1]
    more = [len(one["rejected"].split()) - len(one["chosen"].split()) for one in found[0]]
    assert abs(sum(more)) < len(more)


def test_short_words_that_are_said_twice_are_no_reason():
    reasons = [one["reason"] for one in records(stream(EXPANDED, "uniform"))]
    assert not [reason for reason in reasons if re.match(r'says "(\w{1,4})" ', reason)]


def test_ranks_share_the_preferences_of_an_epoch_and_pairs_without_any_are_counted():
    data = stream(EXPANDED, "shuffle", seed=5)
    whole = records(data, 1)
    assert len(whole) == len(data) - data.rejected.missing < len(data)
    shares = [records(stream(EXPANDED, "shuffle", seed=5), 1, rank=rank, ranks=3) for rank in range(3)]
    assert sorted(map(str, whole)) == sorted(str(one) for share in shares for one in share)
    assert preference_dataset(data, 1).to_list() == whole


def test_lattices_that_were_not_kept_or_have_no_rules_are_refused():
    with pytest.raises(InputError, match="preferences need the lattices"):
        records(stream(sample_examples()[:2]))
    by_bleu = ExpandSettings(per_example=6, keep_lattice=True, judging=JudgeSettings("bleu"))
    with pytest.raises(InputError, match="was kept without rules"):
        records(stream(list(expand(sample_examples()[:2], settings=by_bleu))))
