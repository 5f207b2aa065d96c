"""`polyref demo`: what polyref does, on examples that the package carries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, NamedTuple

from polyref.cli import options as o
from polyref.data import open_output, sample_examples
from polyref.errors import SettingsError
from polyref.example import Example
from polyref.expansion import usage_of
from polyref.judge import Usage, rules_of
from polyref.lattice import Lattice, Sentence
from polyref.settings import setting, settings
from polyref.text import TextSettings

if TYPE_CHECKING:
    from rich.console import Console

# One colour per reference; told apart on light and on dark terminals.
_COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red", "bright_cyan", "bright_magenta")
_TEXT = TextSettings("characters")  # Chinese and Japanese by the character; for all others, this cuts words
_LOOKED_AT = 40  # of the best sentences, for three that are worth showing


class _Shown(NamedTuple):
    example: Example
    lattice: Lattice
    sentences: list[Sentence]

    @property
    def interest(self) -> float:
        """How much its sentences are both good and put together from several references."""
        from polyref.draw.page import runs_of

        return sum(max(0.0, sentence.bleu - 90) * len(runs_of(sentence)) for sentence in self.sentences)


@settings
class DemoSettings:
    """What is shown on the terminal."""

    examples: int = setting(8, "Number of examples on the terminal.", at_least=0)
    best: int = setting(3, "Number of pseudo-references per example.", at_least=1)


@o.from_settings()
def demo(
    settings: DemoSettings,
    page: Annotated[str | None, o.output("Write a page (html) that draws all lattices.")] = None,
    as_json: o.JsonOption = False,
) -> None:
    """Show pseudo-references of the examples in the package.

    Each word has the colour of a reference that has it.
    """  # fmt: skip
    from rich.console import Console

    if page is not None and not page.endswith((".html", ".htm")):
        raise SettingsError(f"{page}: the page is HTML", "end the name in .html")
    examples = list(sample_examples())
    usage = usage_of(examples, _TEXT)
    shown = [_look_at(example, usage, settings.best) for example in examples]
    console = Console(highlight=False, soft_wrap=True)
    for one in [] if as_json else _most_interesting(shown, settings.examples):
        _print(one, console)
    gold = sum(len(one.example.references) for one in shown)
    new = sum(one.lattice.new for one in shown)
    if page is not None:
        _write_page(shown, page)
    told = f"\n{len(shown)} examples, {gold} references; their lattices hold {new:,} new sentences.\n"
    told += "" if page is None else f"All {len(shown)} lattices, drawn: {o.printable(page)}\n"
    o.summarise({"examples": len(shown), "references": gold, "new": new, "file": page}, told, as_json=as_json)


def _look_at(example: Example, usage: Usage, best: int) -> _Shown:
    lattice = Lattice.from_references([reference.text for reference in example.references], text=_TEXT)
    lattice.rules = rules_of(lattice, usage)
    return _Shown(example, lattice, _varied(lattice, best))


def _varied(lattice: Lattice, wanted: int) -> list[Sentence]:
    """The best sentences that differ in more than a word or two, from each other and from the references."""
    apart = [set(tokens.words) for tokens in lattice.tokens]
    chosen: list[Sentence] = []
    for sentence in lattice.best(_LOOKED_AT):
        words = set(sentence.words)
        if all(len(words ^ other) > 3 for other in apart) and len(chosen) < wanted:
            chosen.append(sentence)
            apart.append(words)
    return chosen or lattice.best(1)


def _most_interesting(shown: list[_Shown], wanted: int) -> list[_Shown]:
    """The most interesting ones: every second in English, the others each in a language of its own; kinds in turn."""
    waiting = sorted(shown, key=lambda one: -one.interest)
    chosen: list[_Shown] = []
    while waiting and len(chosen) < wanted:
        abouts = [_about(one.example) for one in chosen]
        costs = []
        for one in waiting:
            about = _about(one.example)
            same_kind = sum(other["kind"] == about["kind"] for other in abouts)
            same_language = sum(other["language"] == about["language"] for other in abouts)
            in_turn = (about["language"] == "en") == (len(chosen) % 2 == 0)
            costs.append(same_kind + (0 if about["language"] == "en" else 5 * same_language) + (0 if in_turn else 20))
        chosen.append(waiting.pop(costs.index(min(costs))))
    return sorted(chosen, key=shown.index)


def _about(example: Example) -> dict[str, str]:
    about: dict[str, str] = json.loads(example.record or "{}")
    return {"kind": about.get("kind", ""), "language": about.get("language", "")}


def _print(one: _Shown, console: Console) -> None:
    from rich.text import Text

    from polyref.draw.page import runs_of

    size = f"{len(one.example.references)} references, {one.lattice.count:,} sentences"
    console.print(f"\n[bold]{one.example.id}[/bold]  {size}")
    for number, reference in enumerate(one.example.references):
        console.print(f"          {reference.text}", style=_COLOURS[number % len(_COLOURS)], markup=False)
    for sentence in one.sentences:
        line = Text(f"  {sentence.bleu:6.1f}  ")
        for text, said_by in runs_of(sentence):
            line.append(text, style=f"bold {_COLOURS[said_by % len(_COLOURS)]}")
        console.print(line)


def _write_page(shown: list[_Shown], path: str) -> None:
    from polyref.draw.page import Exhibit, as_gallery

    exhibits = []
    for one in shown:
        about = _about(one.example)
        source = one.example.source if isinstance(one.example.source, str) else json.dumps(one.example.source)
        note = f"{about['kind']}, {about['language']}: {source}"
        title = one.example.id.split("-", 2)[-1].replace("-", " ").capitalize()
        exhibits.append(Exhibit(title, note, one.lattice, one.sentences))
    introduction = [
        "Each coloured line is a reference that a person wrote; words that several share are one station. Any way from "
        "left to right is a sentence. The marked way is one that nobody wrote: a pseudo-reference.",
        "Under each map: the references, and new sentences with their BLEU against them, each word in the colour of a "
        "reference that has it there.",
    ]
    with open_output(path) as stream:
        stream.write(as_gallery(exhibits, "Many references, one lattice", introduction).encode())
