"""`polyref demo`: what polyref does, on examples that the package carries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, NamedTuple

from polyref.cli import options as o
from polyref.cli.lattice import source_text, write_page
from polyref.data import sample_examples
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
# Of the three sentences of each example, those that a reader found wrong: BLEU does not read.
_FAILURES = frozenset(
    """
Café Noor is a pet-friendly coffee shop offering breakfast and homemade cakes from 07:30 and allows pets.
a baker is sliding loaves of bread into a white hat loads an oven
A football match is being played in front of a yellow shirt kicks the ball towards the goal.
A football match is being played in front of a shot while the goalkeeper dives to his left.
A player in yellow is about to score a shot while the goalkeeper dives to his left.
the baby elephant is standing next to a smaller one at a watering
a large elephant is standing next to a smaller one at a couple of elephants near some water
Zoë's Diner is an American-style diner. Meals cost £10-15 and has a rating of 3.5 out of 5.
The Blue Heron pub, close to Café Noor that serves English food for £20-25.
Blue Heron is a pub near Café Noor, has English food at £20-25 a head.
The committee's talks took a long time to decide, since its members didn't agree with each other.
It's because of the starch in bread hardens more quickly at low temperatures, so the loaf.
The starch in the cold it turns hard much sooner than at room temperature.
Not far: it's a 3.5 km from the station, or forty-five minutes on foot.
Not far: it's a 3.5 km from the station to the castle.
Report it at the front desk as soon as you can, and they'll give you a new card, which costs £2 fee.
Tell the front desk as soon as you can, and they'll give you a new card, which costs £2 fee.
un homme en train de lire sur un banc lit le journal à l'ombre d'un arbre
Sie hat gesagt, sie ruft mich anruft, sobald der Zug da ist.
ein Junge in gelben Gummistiefeln füttert die Enten am Ufer Brot zu
Kind mit gelben Gummistiefeln wirft den Enten am Teich
Je nach Größe sollte das Ei vier bis fünf Minuten, bei großen Eiern eher 5,5.
Je nach Größe sollte das Ei braucht etwa fünf Minuten.
Oiga, ¿dónde para el autobús a Córdoba se detiene aquí o a la vuelta de la esquina?
Perdón, ¿sabe si el autobús a Córdoba: aquí o a la vuelta de la esquina?
Esquecemo-nos do nosso guarda-chuva no elétrico e desatou logo a seguir, começou a chover.
Brat już od 3 lat naprawia rowery w Łodzi od trzech lat.
Если снегопад не прекратится, мы не успеем добраться до деревни не доберёмся.
हमारे दफ़्तर के पास जो चाय की दुकान सुबह 6 बजे से पहले खुल जाती है।
Ensi viikonloppuna kesämökille, jos auto on siihen mennessä korjattu.
""".strip().split("\n")
)


class _Shown(NamedTuple):
    example: Example
    lattice: Lattice
    sentences: list[Sentence]

    @property
    def interest(self) -> float:
        """How much its sentences are both good and put together from several references."""
        from polyref.draw.page import runs_of

        good = [sentence for sentence in self.sentences if sentence.text not in _FAILURES]
        return sum(max(0.0, sentence.bleu - 90) * len(runs_of(sentence)) for sentence in good)


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
    found = [] if as_json else sorted(_most_interesting(shown, settings.examples), key=shown.index)
    for one in found:
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
    return sorted(chosen, key=lambda sentence: sentence.text in _FAILURES) or lattice.best(1)


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
    return chosen


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
        if sentence.text in _FAILURES:
            line.append("  (failure)")
        console.print(line)


def _write_page(shown: list[_Shown], path: str) -> None:
    """The strongest ones come first, and are open."""
    from polyref.draw.page import Exhibit, draw_exhibit

    drawn = []
    for one in _most_interesting(shown, len(shown)):
        about = _about(one.example)
        facets = {"task": about["kind"], "language": about["language"]}
        note = f"{about['kind']}, {about['language']}: {source_text(one.example)}"
        title = one.example.id.split("-", 2)[-1].replace("-", " ").capitalize()
        drawn.append(draw_exhibit(Exhibit(title, note, one.lattice, one.sentences, facets, _FAILURES)))
    write_page(drawn, path, "Many references, one lattice", "auto")
