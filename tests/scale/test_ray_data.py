"""`expand_dataset` gives to rows what `expand` gives to examples, in their order; `make scale-test` runs this."""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from samples import caption_lines

import polyref
from polyref.align import AlignSettings
from polyref.data import examples_of, render
from polyref.errors import InputError
from polyref.example import Example
from polyref.expansion import ExpandSettings, usage_of
from polyref.text import TextSettings

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
ray = pytest.importorskip("ray", reason="needs the extra ray")
data = pytest.importorskip("ray.data", reason="needs the extra ray")

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own
PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
ROWS = [json.loads(line) for line in caption_lines(300).splitlines()]


@pytest.fixture(scope="module", autouse=True)
def machine() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1")
    data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


@pytest.fixture(autouse=True)
def fewer_are_learned_from(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("polyref.expansion", "polyref.feed.ray"):
        monkeypatch.setattr(f"{module}.EXAMPLES_READ", 200)


def pseudo(rows: list[dict[str, Any]]) -> list[tuple[str, list[str], str]]:
    return [(row["id"], [one["text"] for one in row["pseudo_references"]], row["lattice"]["sentences"]) for row in rows]


def by_expand(rows: list[dict[str, Any]], **settings: Any) -> list[tuple[str, list[str], str]]:
    return pseudo([json.loads(render(one)) for one in polyref.expand(rows, **settings)])


@pytest.mark.parametrize("align", ["hard", "soft"])
def test_rows_get_what_examples_get_in_their_order(align):
    settings = ExpandSettings(per_example=6, align=AlignSettings(align))
    given = data.from_items(ROWS, override_num_blocks=7)
    found = polyref.expand_dataset(given, settings=settings).take_all()
    assert pseudo(found) == by_expand(ROWS, settings=settings)
    assert [row["references"] for row in found] == [row["references"] for row in ROWS]


def records(examples: Iterable[Example]) -> list[Any]:
    """As files have them: scores are rounded."""
    return [json.loads(render(one)) for one in examples]


def test_rows_are_examples_of_parquet(tmp_path):
    polyref.expand_dataset(data.from_items(ROWS[:20]), 6).write_parquet(str(tmp_path / "out"))
    assert records(polyref.read(tmp_path / "out")) == records(polyref.expand(ROWS[:20], 6))


def test_what_is_known_of_words_may_be_given():
    usage = usage_of(list(examples_of([["the cat and the dog", "a cat and a dog"]] * 3)), TextSettings())
    found = polyref.expand_dataset(data.from_items(ROWS[:50]), 6, usage=usage).take_all()
    assert pseudo(found) == by_expand(ROWS[:50], per_example=6, usage=usage)


def test_a_data_set_without_references_is_refused():
    with pytest.raises(InputError, match=r'there is no column "references"; name another with fields='):
        polyref.expand_dataset(data.from_items([{"caption": "a cat"}]))
    with pytest.raises(InputError, match=r"this is a list, not a ray.data.Dataset"):
        polyref.expand_dataset(ROWS)


def test_the_example_of_the_page_runs(tmp_path):
    (tmp_path / "captions.jsonl").write_text(caption_lines(40))
    [code] = [part for part in PAGE.read_text().split("```python\n")[1:] if "expand_dataset" in part]
    code = code.partition("```")[0].replace('("', f'("{tmp_path}/')  # Ray's processes work in a folder of their own
    exec(code, {})
    expected = polyref.expand(polyref.read(tmp_path / "captions.jsonl"), 20)
    assert records(polyref.read(tmp_path / "expanded")) == records(expected)
