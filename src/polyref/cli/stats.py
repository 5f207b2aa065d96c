"""`polyref stats`: the statistics of data sets, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from polyref.cli import options as o
from polyref.data import Input, Losses, ReadSettings, open_output
from polyref.data.opening import located
from polyref.data.writing import check_not_input
from polyref.draw import suffix_of
from polyref.errors import SettingsError
from polyref.example import JUDGEMENTS, Example
from polyref.lattice import AutoEngine
from polyref.stats import statistics
from polyref.text import TextSettings

MOST_BARS = 8  # numbers of references that a person wants to see one by one


@o.from_settings()
def stats(
    files: o.Inputs,
    output: Annotated[str | None, o.output("Page (html) about a run of expand.")] = None,
    *,
    text: TextSettings,
    reading: ReadSettings,
    as_json: o.JsonOption = False,
) -> None:
    """Count the examples, references and words of a file.

    It also tells how similar the references are. Several files get one column each; with --from parallel they are one
    data set: sources, then references.
    """  # fmt: skip
    sets: list[str | list[str]] = [files] if reading.format == "parallel" else list(files)
    page = None if output is None else _Page(output, sets, reading, text)
    found: dict[str, dict[str, Any]] = {}
    for paths in sets:
        losses = Losses()
        name = paths if isinstance(paths, str) else paths[0]
        examples = Input.of(paths, reading).examples(require_source=False, losses=losses)
        found[name] = statistics(examples if page is None else page.watch(examples), text)
        if not as_json:
            o.say_losses(name, "not read", losses)
    lines = [o.one_object({"file": name, **summary}) for name, summary in found.items()]
    if page is not None:
        page.write()
    o.tell("".join(lines) if as_json else _table(found))


class _Page:
    """The page about a run, which is read twice: first counted with everything else, then looked at."""

    def __init__(self, output: str, sets: list[str | list[str]], reading: ReadSettings, text: TextSettings):
        from polyref.draw.run import RunFacts

        suffix_of(output, ("html",))
        self._input = Input.of(sets[0], reading)
        if len(sets) > 1 or not self._input.can_be_read_again:
            raise SettingsError("describes one file, which is read twice", "name one file", key="output")
        check_not_input(output, self._input)
        self._output, self._facts = output, RunFacts(text)

    def watch(self, examples: Iterator[Example]) -> Iterator[Example]:
        with located(self._input.name):
            yield from self._facts.watch(examples)

    def write(self) -> None:
        from polyref.draw.run import run_page

        title = Path(self._input.name).name
        page = run_page(self._facts, self._input.examples(require_source=False), title, AutoEngine(o.say))
        with open_output(self._output) as stream:
            stream.write(page.encode("utf-8", "replace"))
        o.say(f"{self._output}: a page about {o.counted(len(self._facts.sizes), 'example')} written")


def _table(found: dict[str, dict[str, Any]]) -> str:
    """One column per data set; a row that is blank in all of them is left out."""
    columns = [dict(_rows(summary)) for summary in found.values()]
    labels = dict.fromkeys(label for column in columns for label in column)
    rows = [[label, *[column.get(label, "-") for column in columns]] for label in labels]
    return "".join(f"{line}\n" for line in o.aligned([["", *o.short_names(list(found))], *rows]))


def _rows(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    per_example = summary["references_per_example"]
    yield "examples", _number(summary["examples"])
    yield "references", _number(summary["references"])
    yield "  per example, mean", _number(per_example["mean"])
    yield "  per example, least to most", f"{per_example['least']} to {per_example['most']}"
    bars: Counter[str] = Counter()
    for count, number in per_example["examples_by_references"].items():  # the long tail in one row
        bars[count if int(count) <= MOST_BARS else f"more than {MOST_BARS}"] += number
    yield from ((f"  examples with {count}", _number(number)) for count, number in bars.items())
    yield "  distinct", _number(summary["distinct_references"])
    yield "  identical to another of the example", _number(summary["identical_references"])
    yield from _lengths("tokens", summary["tokens_per_reference"], "reference")
    yield "vocabulary", _number(summary["vocabulary"]["words"])
    yield "  seen once", _number(summary["vocabulary"]["seen_once"])
    if summary["tokens_per_source"]:
        yield from _lengths("source tokens", summary["tokens_per_source"], "source")
    overlap = summary["overlap"]
    if overlap["examples"]:
        yield "overlap of an example's references", ""
        yield "  words shared (Jaccard)", f"{overlap['word_overlap']:.3f}"
        yield "  BLEU against the others", _number(overlap["bleu"])
        yield "  references that score 0", f"{overlap['bleu_zero']:.1%}"
    pseudo = summary["pseudo_references"]
    if pseudo:
        yield "pseudo-references", _number(pseudo["pseudo_references"])
        yield "  pseudo per example, mean", _number(pseudo["per_example"])
        yield "  pseudo tokens, mean", _number(pseudo["tokens_per_pseudo_reference"]["mean"])
        yield "  pseudo BLEU, mean", _number(pseudo["bleu"])
        there = [name for name in JUDGEMENTS if pseudo[name] is not None]
        yield from ((f"  pseudo {name}, mean", _number(pseudo[name])) for name in there)
        if pseudo["repeats"]:
            yield "  repeats besides", _number(pseudo["repeats"])


def _lengths(label: str, summary: dict[str, Any], what: str) -> Iterator[tuple[str, str]]:
    yield label, _number(summary["tokens"])
    yield f"  per {what}, mean", _number(summary["mean"])
    yield f"  per {what}, median", f"{summary['median']:g}"
    yield f"  longest {what}", _number(summary["longest"])


def _number(value: int | float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
