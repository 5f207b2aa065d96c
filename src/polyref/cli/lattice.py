"""`polyref lattice`: look at the lattices of a file's examples, and draw them.

Also what `align` needs of it: the lattices of a file's examples, and the files to draw them into.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from polyref.align import AlignSettings
from polyref.cli import options as o
from polyref.data import Input, ReadSettings, open_output
from polyref.data.formats.jsonl import decimal_text
from polyref.data.opening import display_name, located, read_lines
from polyref.data.writing import check_not_input
from polyref.draw import GRAPHS, PICTURES, check_drawable, suffix_of
from polyref.draw.style import shortened
from polyref.errors import InputError, SettingsError
from polyref.example import Example
from polyref.expansion import learned
from polyref.files import writing
from polyref.judge import JudgeSettings, Usage, explain, rules_of, written
from polyref.lattice import Lattice, SearchSettings, Sentence, engine_named
from polyref.scale import ToolSettings
from polyref.settings import setting, settings
from polyref.text import TextSettings

if TYPE_CHECKING:
    from polyref.draw.figure import Highlight
    from polyref.draw.page import Drawn

ThemeName = Literal["light", "dark", "auto"]  # as the drawings have it; not taken from there, so that help starts fast
MOST_SENTENCES = 10_000  # per example, as expand has it
_ID = "{id}"
_MOST_TOGETHER = 1000  # examples on a page: 30 MB
_LONGEST_SOURCE = 300
_NAME_BYTES = 230  # of the 255 that a file system takes; the others are for the name of the temporary file


def _number(help: str, **declared: str) -> Any:
    return setting(0, help, at_least=0, at_most=MOST_SENTENCES, metavar="N", **declared)


@settings(group="Drawing")
class DrawSettings:
    """Which examples, and how they are drawn."""

    id: str | None = setting(None, "Only the example with this id.", metavar="ID")
    theme: ThemeName = setting("auto", "Colours; auto: as the reader's system.")
    title: str | None = setting(None, "Title of a drawing.", metavar="TEXT")


@settings(group="Contents")
class ShowSettings:
    """What is shown of a lattice beside its size."""

    steps: bool = setting(False, "Show each merge of references.")
    best: int = _number("Add the N best new sentences.")
    listed: int = _number("Add the first N sentences, also gold ones.", key="list")
    sample: int = _number("Add N sentences drawn uniformly.")
    score: str | None = setting(None, "Score the sentences of a file, one per line.", metavar="FILE")


@o.from_settings(tools=("language_model", "cache", "workers", "ray"), search=("tie_limit", "unseen_marks"))
def lattice(
    file: o.Input,
    *,
    output: Annotated[str | None, o.output("svg, png, html, tex, dot, fst, json; {id}", "OUT")] = None,
    highlight: Annotated[str, o.option("N|TEXT", "Mark a sentence, by rank or text; 0: none.")] = "1",
    drawing: DrawSettings,
    show: ShowSettings,
    align: AlignSettings,
    preset: o.PresetOption = None,
    text: TextSettings,
    search: SearchSettings,
    judging: JudgeSettings,
    tools: ToolSettings,
    reading: ReadSettings,
    as_json: o.JsonOption = False,
) -> None:
    """Show the lattice of each example, or draw it.

    It has a size, a number of sentences, and with --best, --list or --sample some of them.
    """  # fmt: skip
    scored = None if show.score is None else _sentences(show.score)
    together = output is not None and _is_gallery(output, show)  # before anything is read
    is_on_page = together and not (show.listed or show.sample or show.score)
    if judging.judge == "seams":
        raise SettingsError("asks a language model, which only expand does", "choose content", key="judge")
    examples = Input.of(file, reading).examples(require_source=False)
    usage: Usage | None = None
    if judging.judge != "bleu":
        with located(display_name(file)):
            usage, examples = learned(examples, text)
    page = _few_enough(examples, str(output)) if together and drawing.id is None else []
    lattices = lattices_of(file, page or examples, drawing.id, align, text, tools)
    with_paths = with_files(file, lattices, output, together=together)
    if len(page) > 1:
        with_paths = o.with_bar(with_paths, len(page), "drawing", "lattices")
    drawn: list[Drawn] = []
    number = 0
    for example, merged, path in with_paths:
        merged.rules = None if usage is None else rules_of(merged, usage)
        if path is not None:
            with about(file, example):
                if not together:
                    check_drawable(merged, path)
                marked = _highlighted(merged, highlight, search)
                if together:
                    drawn.append(_drawn(example, merged, marked, show.best, search, drawing.theme))
                else:
                    title = heading(example) if drawing.title is None else drawing.title
                    merged.save(path, highlight=marked, theme=drawing.theme, title=title, steps=show.steps)
        report = _report(example, merged, show, scored, search)
        number += 1
        if as_json or not is_on_page:
            told = (f"{o.printable(line)}\n" for line in _lines(report, example))
            o.tell(o.one_object(report) if as_json else "".join(told))
    if output is not None and together:
        name = drawn[0].title if len(drawn) == 1 else Path(display_name(file)).name
        write_page(drawn, output, drawing.title or name, drawing.theme)
    if output is not None:
        o.say(f"{output}: {o.counted(number, 'lattice')} written")


def _sentences(path: str) -> list[str]:
    return [line.text(path) for line in read_lines(path, holds="one sentence per line")]


def _is_gallery(output: str, show: ShowSettings) -> bool:
    """Whether all examples come into one file, which is a page."""
    suffix = suffix_of(output, PICTURES if show.steps else PICTURES + GRAPHS)
    return suffix == "html" and not show.steps and _ID not in output


def _few_enough(examples: Iterable[Example], output: str) -> list[Example]:
    """The examples of a page."""
    found = list(islice(examples, _MOST_TOGETHER + 1))
    if len(found) > _MOST_TOGETHER:
        problem = f"{output} has room for {_MOST_TOGETHER:,} examples, and there are more"
        raise SettingsError(problem, "take a part of the file, add --id, or write {id} in the name")
    return found


def _report(
    example: Example, merged: Lattice, show: ShowSettings, scored: list[str] | None, search: SearchSettings
) -> dict[str, Any]:
    """What is told about a lattice."""
    report: dict[str, Any] = {
        "id": example.id,
        "states": merged.states,
        "arcs": len(merged.arcs),
        "sentences": decimal_text(merged.count),
        "new": decimal_text(merged.new),
        "pieces": merged.pieces,
        "penalty": merged.penalty,
        "deterministic": merged.deterministic,
    }
    if show.steps:
        report["steps"] = [
            {
                "pair": step.pair,
                "links": len(step.links),
                "worth": round(step.worth, 4),
                "sentences": decimal_text(step.lattice.count),
            }
            for step in merged.steps()
        ]
    if show.best:
        best = written(merged, merged.search(show.best, search))
        report["best"] = [
            {"text": one.text, "bleu": round(one.bleu, 2)}
            | ({} if merged.rules is None else {"content": one.content, "crossings": one.crossings})
            for one in best
        ]
    if show.listed:
        report["list"] = [sentence.text for sentence in islice(merged.sentences(), show.listed)]
    if show.sample:
        report["sample"] = [sentence.text for sentence in merged.sample(show.sample, search.seed)]
    if scored is not None:
        report["score"] = [_scored(given, merged) for given in scored]
    return report


def _scored(given: str, merged: Lattice) -> dict[str, Any]:
    sentence = merged.sentence(given)
    scored = {"text": given, "bleu": round(merged.bleu(given), 2), "in_lattice": sentence is not None}
    if sentence is None or merged.rules is None:
        return scored
    return scored | {"left_out": explain(merged, sentence.words)}


def _highlighted(merged: Lattice, wanted: str, search: SearchSettings) -> Sentence | int | str | None:
    """The sentence that --highlight names, by the same settings as --best."""
    if not wanted.isdecimal():
        return wanted
    rank = int(wanted)
    best = merged.best(rank, search) if 0 < rank <= MOST_SENTENCES else []
    return best[-1] if best and len(best) == rank else rank


def heading(example: Example) -> str:
    """What a drawing of an example is called: its id, and its source where that says more."""
    source = source_text(example)
    return f"{example.id}: {source}" if source else example.id


def source_text(example: Example) -> str:
    """An example's source as one line; nothing where it is the id again."""
    source = example.source if isinstance(example.source, str) else json.dumps(example.source, ensure_ascii=False)
    line = " ".join(source.split())
    return "" if example.source is None or line == example.id else shortened(line, _LONGEST_SOURCE)


def _drawn(
    example: Example, merged: Lattice, marked: Highlight, best: int, search: SearchSettings, theme: ThemeName
) -> Drawn:
    """An example for a page, with that many sentences, or as many as pages have."""
    from polyref.draw.page import BEST, Exhibit, draw_exhibit, sentences_of

    sentences = sentences_of(merged, marked, merged.best(best or BEST, search))
    record = json.loads(example.record) if example.record else {}
    facets = {key: value for key, value in record.items() if isinstance(value, str) and key not in ("id", "source")}
    facets["references"] = str(len(example.references))
    note = source_text(example) or example.references[0].text
    return draw_exhibit(Exhibit(example.id, note, merged, sentences, facets), theme)


def write_page(drawn: list[Drawn], path: str, title: str, theme: ThemeName) -> None:
    """Write a page of all that was drawn."""
    from polyref.draw.page import as_page

    with open_output(path) as stream:
        stream.write(as_page(drawn, title, theme).encode("utf-8", "replace"))


def _lines(report: dict[str, Any], example: Example) -> Iterator[str]:
    pieces = "" if report["pieces"] == 1 else f", in {report['pieces']} pieces"
    size = f"{len(example.references)} references, {report['states']} states, {report['arcs']} arcs{pieces}"
    yield f"{report['id']}: {size}; {o.large(report['sentences'])} sentences, {o.large(report['new'])} of them new"
    for number, step in enumerate(report.get("steps", ())):
        # By their letters, as in drawings.
        pair = " and ".join(chr(ord("A") + reference) for reference in step["pair"] or ())
        merged = f"{pair} merged, {step['links']} links" if pair else "side by side"
        yield f"   ({chr(ord('a') + number)})  {merged}: {o.large(step['sentences'])} sentences"
    for sentence in report.get("best", ()):
        yield f"  {sentence['bleu']:6.2f}  {sentence['text']}"
    for name in ("list", "sample"):
        for sentence in report.get(name, ()):
            yield f"  {name:>6}  {sentence}"
    for sentence in report.get("score", ()):
        where = "in" if sentence["in_lattice"] else "not in"
        yield f"  {sentence['bleu']:6.2f}  {where} the lattice: {sentence['text']}"
        if sentence.get("left_out"):
            yield f"          left out: {sentence['left_out']}"


# -- lattices of a file -----------------------------------------------------------------------------------------------


def lattices_of(
    file: str,
    examples: Iterable[Example],
    id: str | None,
    align: AlignSettings,
    text: TextSettings,
    tools: ToolSettings,
) -> Iterator[tuple[Example, Lattice]]:
    """The lattice of each example of a file, or of the one with an id."""
    encoder = tools.open_encoder(align)
    engine = engine_named(tools.engine, o.say)
    found, first = False, None
    for example in examples:
        first = first or example.id
        if id is not None and example.id != id:
            continue
        if not found and align.align == "hard" and example.lattice is not None and example.lattice.penalty is not None:
            o.say(f"{display_name(file)}: was expanded by soft alignment; --align soft gives the lattices of that")
        found = True
        texts = [reference.text for reference in example.references]
        with located(display_name(file), example.line):
            lattice = Lattice.from_references(texts, align=align, text=text, encoder=encoder, engine=engine)
        yield example, lattice
    if not found:
        problem = f'there is no example with the id "{id}"'
        raise InputError(problem, f'check the id; the first one is "{first}"', file=display_name(file))


@contextmanager
def about(file: str, example: Example) -> Iterator[None]:
    """Say which example a setting does not fit."""
    try:
        yield
    except SettingsError as error:
        raise SettingsError(f'{display_name(file)}: example "{example.id}": {error}') from None


def with_files(
    file: str, lattices: Iterator[tuple[Example, Lattice]], output: str | None, *, together: bool = False
) -> Iterator[tuple[Example, Lattice, str | None]]:
    """Each lattice with the file to draw it into: `out-{id}.svg` names one for each, another name is for one only.

    `together`: the file takes all of them.
    """
    if output is not None and _ID not in output and not together:
        first_two = list(islice(lattices, 2))
        if len(first_two) > 1:
            problem = f"{output} has room for one example, and there are several"
            raise SettingsError(problem, "add --id, write {id} in the name, or write html")
        lattices = iter(first_two)
    taken: set[str] = set()
    for example, lattice in lattices:
        path = output
        if output is not None and _ID in output:
            path = output.replace(_ID, _file_name(example.id, _room(output), taken))
            with writing(path, "choose another place"):
                Path(path).parent.mkdir(parents=True, exist_ok=True)
        if path is not None:
            check_not_input(path, Input.of(file))
        yield example, lattice, path


def _room(pattern: str) -> int:
    """How many bytes an id may have in the name of a file or a folder."""
    parts = [part for part in Path(pattern).parts if _ID in part]
    return min((_NAME_BYTES - len(os.fsencode(part.replace(_ID, "")))) // part.count(_ID) for part in parts)


def _file_name(id: str, room: int, taken: set[str]) -> str:
    """The id itself where it can be part of a name; else what is left of it, and a hash that tells it from others.

    `taken` are the names of other ids, as a file system sees them that takes "A" for "a", or "é" for "e" and an accent.
    """
    safe = re.sub(r"[^\w.+ -]|^\W|[. ]\Z", "_", id) or "_"
    digest = hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()
    for tail in ("", f"-{digest[:8]}", f"-{digest}"):
        name = safe.encode()[: max(0, room - len(tail))].decode(errors="ignore") + tail
        seen = unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())
        if seen not in taken and (tail or name == id):
            taken.add(seen)
            return name
    raise SettingsError(f'there is no name for a file of the id "{id}"', "write a shorter name around {id}")
