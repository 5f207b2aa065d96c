"""What can be asked about an example, and with which settings; and the command that gives the same.

In:   a JSON object; or settings.
Out:  a Question, checked; the controls of a page; a command line.
Not:  answers (analysis.py), the web (server.py).

Controls, checks and commands all come from the declarations of the settings: a new setting appears by itself.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args, get_origin

from polyref.data import ReadSettings, examples_of
from polyref.encode import DEFAULT
from polyref.errors import InputError, SettingsError
from polyref.example import Example
from polyref.expansion import ExpandSettings
from polyref.scale import ToolSettings
from polyref.settings import Key, build, choices, contents, keys, option_name, part, refuse_unknown, settings, shown

Kind = Literal["look", "left-out", "matrix", "curve", "export"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Form = Literal["svg", "png", "jsonl"]
FORMS: tuple[Form, ...] = get_args(Form)
THEMES = ("light", "dark", "auto")
MOST_REFERENCES = 500
MOST_WORDS = 2000
MOST_CHARACTERS = 100_000
MOST_PER_EXAMPLE = 1000
NARROWEST, WIDEST = 320, 4000  # points of a map
OWN = "own"  # the id of references that somebody typed
# What has no effect on one example, or could make it take for ever.
_NOT_ASKED = frozenset(
    {
        *("keep_lattice", "shortfall", "tie_limit", "unseen_marks", "node_budget", "example_seconds"),
        *("language_model", "cache", "engine", "workers", "ray"),
    }
)


@settings
class LookSettings:
    """How an example is looked at: what `expand` takes."""

    expand: ExpandSettings = part(ExpandSettings)
    tools: ToolSettings = part(ToolSettings)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about an example. `is_own`: somebody typed its references, so no file tells about their words."""

    kind: Kind
    example: Example
    is_own: bool
    settings: LookSettings
    width: float = 900.0  # of a map, in points
    pair: tuple[int, int] = (0, 1)  # of a matrix
    form: Form = "svg"  # of an export, as the two below
    theme: Literal["light", "dark", "auto"] = "auto"
    sentence: str | None = None


# -- from JSON --------------------------------------------------------------------------------------------------------


def settings_of(given: object, base: LookSettings, encoders: Collection[str]) -> LookSettings:
    """Settings from a JSON object. `base` has what cannot be asked for; the rest has its default where not given."""
    if not isinstance(given, Mapping):
        raise SettingsError("is not an object", "give settings by their names", key="settings")
    refuse_unknown("setting", given, [key.name for key in _asked()])
    named = given.get("encoder")
    if named is not None and named not in encoders:
        raise SettingsError(f"is {shown(named)}", f"choose one of {', '.join(sorted(encoders))}", key="encoder")
    made = build(LookSettings, given, base)
    if made.expand.per_example > MOST_PER_EXAMPLE:
        problem = f"is {made.expand.per_example:,}"
        raise SettingsError(problem, f"ask for {MOST_PER_EXAMPLE:,} at most here; expand takes more", key="per_example")
    return made


def base_of(given: LookSettings) -> LookSettings:
    """What was given when the explorer was started, as far as a page cannot change it."""
    values = contents(given)
    return build(LookSettings, {name: values[name] for name in _NOT_ASKED})


def own_example(references: object) -> Example:
    """References that somebody typed."""
    if not isinstance(references, list):
        raise SettingsError("is not a list", "give the texts of one example", key="references")
    if len(references) > MOST_REFERENCES:
        raise InputError(f"these are {len(references):,} references", f"give at most {MOST_REFERENCES:,}")
    if (characters := sum(len(text) for text in references if isinstance(text, str))) > MOST_CHARACTERS:
        raise InputError(f"these references have {characters:,} characters", f"give at most {MOST_CHARACTERS:,}")
    if any(isinstance(text, str) and any("\ud800" <= c <= "\udfff" for c in text) for text in references):
        raise InputError("a reference holds half a surrogate pair", "repair it")
    try:
        [example] = examples_of([{"id": OWN, "references": references}])
    except InputError as error:
        raise InputError(error.problem, error.cure) from None
    return replace(example, record=None, line=None)


def question_of(
    kind: Kind, given: Mapping[str, Any], example: Example, is_own: bool, settings: LookSettings
) -> Question:
    """A question from a JSON object, whose example and settings are known already."""
    made = Question(kind, example, is_own, settings)
    width, pair, sentence = given.get("width", made.width), given.get("pair", [0, 1]), given.get("sentence")
    if isinstance(width, bool) or not isinstance(width, int | float) or not NARROWEST <= width <= WIDEST:
        raise SettingsError(f"is {shown(width)}", f"give a number from {NARROWEST} to {WIDEST:,}", key="width")
    is_pair = isinstance(pair, list) and len(pair) == 2 and all(type(one) is int for one in pair)
    if not is_pair:
        raise SettingsError("is not a pair", "give the numbers of two references, counted from 0", key="pair")
    if not (sentence is None or isinstance(sentence, str)):
        raise SettingsError("is not a string", "give a sentence of the lattice", key="sentence")
    form, theme = (_one_of(name, given, known) for name, known in (("form", FORMS), ("theme", THEMES)))
    form, theme = form or made.form, theme or made.theme
    return replace(made, width=float(width), pair=tuple(pair), form=form, theme=theme, sentence=sentence)


def _one_of(name: str, given: Mapping[str, Any], known: Sequence[str]) -> Any:
    value = given.get(name)
    if value is not None and value not in known:
        raise SettingsError(f"is {shown(value)}", f"choose one of {', '.join(known)}", key=name)
    return value


# -- controls ---------------------------------------------------------------------------------------------------------


def _asked(usual: LookSettings | None = None) -> list[Key]:
    return [key for key in keys(LookSettings, usual) if key.name not in _NOT_ASKED and key.table is None]


def controls(given: LookSettings, encoders: Sequence[str]) -> list[dict[str, Any]]:
    """What a page can set. `value` is what was given when the explorer was started, `default` what is declared."""
    found = []
    for key, now in zip(_asked(), _asked(given), strict=True):
        declared = key.declared
        least = declared.at_least if declared.above is None else declared.above
        most = declared.at_most if declared.below is None else declared.below
        found.append(
            {
                "name": key.name,
                "group": key.group,
                "help": declared.help,
                "more": declared.more,
                "unset": declared.unset,
                "needs": list(declared.needs) if declared.needs else None,
                "least": least,
                "most": most,
                "default": key.default,
                "value": now.default,
                **_form_of(key, encoders),
            }
        )
    return found


def _form_of(key: Key, encoders: Sequence[str]) -> dict[str, Any]:
    """How a setting is set: its kind, and what there is to choose from."""
    kinds = [kind for kind in choices(key.kind) if kind is not type(None)]
    words = [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
    if key.name == "encoder":
        return {"kind": "choice", "choices": list(encoders)}
    if get_origin(kinds[0]) is tuple:
        return {"kind": "several", "choices": list(get_args(get_args(kinds[0])[0]))}
    if get_origin(kinds[0]) is Literal:
        return {"kind": "choice", "choices": words}
    return {"kind": {bool: "flag", int: "whole", float: "number"}[kinds[0]], "choices": words}


def encoders_of(given: LookSettings) -> list[str]:
    """The encoders to choose from: the built-in one, and the one that was named when the explorer was started."""
    return list(dict.fromkeys([given.tools.encoder or DEFAULT, DEFAULT]))


# -- commands ---------------------------------------------------------------------------------------------------------


def commands(question: Question, file: str, reading: ReadSettings) -> dict[str, str | None]:
    """The commands that give the same: pseudo-references for the whole file, and a drawing of this example."""
    expand = question.settings.expand
    of_file = _options(keys(ReadSettings), contents(reading), ())
    shared = _options(keys(LookSettings), contents(question.settings), _NOT_ASKED)
    name = f"{OWN}.jsonl" if question.is_own else file
    made = ["polyref", "expand", _not_option(name), "-o", "expanded.jsonl", *shared, *of_file]
    drawn = None
    if not expand.reads:
        drawn_with = _options(keys(LookSettings), contents(question.settings), {*_NOT_ASKED, "per_example"})
        drawn = ["polyref", "lattice", _not_option(name), f"--id={question.example.id}", "-o", "map.svg"]
        drawn += [*drawn_with, *of_file]
        drawn += [f"--highlight={question.sentence}"] if question.sentence else []
    return {"expand": shlex.join(made), "draw": None if drawn is None else shlex.join(drawn)}


def _not_option(name: str) -> str:
    return f"./{name}" if name.startswith("-") and name != "-" else name


def _options(known: Iterator[Key], values: Mapping[str, Any], left_out: Collection[str]) -> list[str]:
    """The options of settings that are not as by default, and have an effect."""
    by_name = {key.name: key for key in known}
    found: list[str] = []
    for name, key in by_name.items():
        if name in left_out or values[name] == key.default or not _has_effect(key, by_name, values):
            continue
        found.append(option_name(key))
        found += [] if isinstance(key.default, bool) else [_written(values[name])]
    return found


def _has_effect(key: Key, known: Mapping[str, Key], values: Mapping[str, Any]) -> bool:
    if key.declared.needs is None:
        return True
    needed, value = key.declared.needs
    return values[needed] == value and _has_effect(known[needed], known, values)


def _written(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or "none"
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return str(value)
