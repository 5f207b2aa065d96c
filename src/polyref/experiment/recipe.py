"""A recipe: everything that a training run depends on.

In:   tables of keys and values, as a TOML file has them.
Out:  a Recipe: its stages one after the other, each with all its settings, checked.
Not:  reading files, overriding keys, writing TOML (reading.py), training (training.py).

A section is a settings class, most of them of the room that does the work, so that each key is declared once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

from polyref.data import Fields
from polyref.errors import SettingsError
from polyref.expansion import ExpandSettings
from polyref.feed.stream import StreamSettings
from polyref.fit import Decay, Device, FitSettings
from polyref.model.settings import KINDS, BeamSettings, kind_of
from polyref.scale import ToolSettings
from polyref.schedule.batches import BatchSettings
from polyref.score import METRICS, Tokenizer, metrics_of
from polyref.settings import (
    Declared,
    Key,
    build,
    check,
    contents,
    keys,
    part,
    refuse_unknown,
    required,
    setting,
    settings,
    table_of,
    within,
)
from polyref.text.subwords import SMALLEST

Content = Mapping[str, Any]
Place = tuple[str | int, ...]  # ("fit", "decay", "factor"), or ("stage", 1, "fit", "epochs")
PERPLEXITY = "perplexity"


if TYPE_CHECKING:
    Metric = str
else:
    Metric = Literal[(*METRICS, PERPLEXITY)]


class RecipeError(SettingsError):
    """What is wrong with a recipe, the keys that may be the cause, and the stage that it is about, counted from 0."""

    def __init__(self, text: str, places: list[Place], stage: int | None = None):
        super().__init__(text)
        self.places = places
        self.stage = stage


@settings
class FitSection(FitSettings):
    """How a model is trained, and what is shown of it meanwhile."""

    tensorboard: bool = setting(False, "Also log for TensorBoard, into the folder tensorboard of the run.")


# Scores begin at 0 and jump, where the perplexity of the language model falls steadily: more patience than there.
FIT = FitSection(decay=Decay(factor=0.7, gain=0.0, stop_after=10))


@settings
class RunSection:
    output: str = required("Folder for the model and everything else that the run writes. Must be given.")
    seed: int = setting(
        0, "Decides first weights, order and dropout. The same seed gives the same weights.", at_least=0, below=2**32
    )
    init_from: str = setting("", "Model folder to start from: its weights and subwords. The sizes must be the same.")
    threads: int = setting(0, "Threads of torch; 0 is torch's own choice.", at_least=0, at_most=1024)
    device: Device = setting("auto", "auto takes a GPU if there is one; cpu; cuda.")

    def check_together(self) -> None:
        if not self.output.strip():
            raise SettingsError("has no name", "name a folder", key="output")


@settings
class DataSection:
    train: str = required("Training set, in any format that polyref reads. Must be given.")
    dev: str = required("Examples for validation. Must be given.")
    test: str = setting("", "Examples that polyref experiment scores once at the end. Training never reads them.")
    examples: int = setting(
        0,
        "Number of training examples, drawn by a hash of their ids: 300 of them are among 1,000. 0 is all.",
        at_least=0,
    )
    references: int = setting(
        0, "Keep only the first so many gold references of a training example; 0 is all.", at_least=0
    )
    at_least: int = setting(1, "Leave out training examples with fewer gold references than this.", at_least=1)
    at_most: int | None = setting(
        None, "Leave out training examples with more gold references than this.", unset="none is left out", at_least=1
    )
    features: str = setting("", "Captioner: file with the features of the images, found by the source of an example.")
    feature_ids: str = setting("", "Captioner: file with one id per line, for features in an npy file.")
    standardise: bool = setting(True, "Captioner: give each feature mean 0 and deviation 1 over the training set.")
    fold_case: bool = setting(False, "Train and generate in lower case, sources too.")
    fields: Fields = part(Fields)

    def check_together(self) -> None:
        for name in ("train", "dev"):
            if not getattr(self, name).strip():
                raise SettingsError("does not name a file", "name one", key=name)


@settings
class ExpandSection:
    """How the training set is expanded before training, and by what."""

    settings: ExpandSettings = part(ExpandSettings)
    tools: ToolSettings = part(ToolSettings)


def _subwords(of: str) -> Any:
    hint = "256 of them are bytes"
    return setting(8000, f"Number of subwords of the {of}.", at_least=SMALLEST, at_most=1_000_000, hint=hint)


@settings
class SubwordsSection:
    source: int = _subwords("sources (translator)")
    target: int = _subwords("references")
    joint: bool = setting(False, "One vocabulary of target's size for sources and references together.")
    learn_from: str = setting("", "Data set to learn the subwords from, instead of the training set.")


def _metric_named(name: str) -> str:
    """The one name that the scores of a metric come under; a name that is not known stays as it is."""
    try:
        return metrics_of([name], PERPLEXITY)[0]
    except SettingsError:
        return name


@settings
class ValidationSection:
    metrics: tuple[Metric, ...] = setting(
        ("bleu", "cider"),
        f"Any of the metrics of docs/scores.md, and {PERPLEXITY}.",
        clean=lambda names: tuple(dict.fromkeys(map(_metric_named, names))),
    )
    goal: Metric = setting("bleu", "The one of them that decides which weights are best.", clean=_metric_named)
    tokenizer: Tokenizer | None = setting(None, "Tokens of all scores.", unset="13a for BLEU, ptb for the others")
    fold_case: bool = setting(False, "Score without case.")
    examples: int = setting(0, "Number of examples to validate on, spread over the file; 0 is all.", at_least=0)
    at_once: int = setting(50, "Examples searched together.", at_least=1, at_most=100_000)
    beam: BeamSettings | None = setting(
        None, "How to search in validation: a table with those keys of [beam] that differ."
    )

    def check_together(self) -> None:
        if self.goal not in (*self.metrics, PERPLEXITY):
            problem, cure = f'is "{self.goal}", which is not among the metrics', "add it to metrics"
            raise SettingsError(problem, cure, key="goal", also=("metrics",))


@dataclass(frozen=True, slots=True)
class Stage:
    """One run of the loop, with all its settings. `expands`: whether the training set is expanded first."""

    name: str
    run: RunSection
    data: DataSection
    expand: ExpandSection
    schedule: StreamSettings
    batch: BatchSettings
    subwords: SubwordsSection
    model: Any  # settings of one of the KINDS
    fit: FitSection
    validation: ValidationSection
    beam: BeamSettings
    expands: bool

    @property
    def kind(self) -> str:
        return kind_of(self.model)

    @property
    def wants_lattices(self) -> str:
        """The key that makes it need kept lattices; none if it needs none."""
        return self.schedule.wants_lattices and f"schedule.{self.schedule.wants_lattices}"

    def seeded(self, seed: int) -> Stage:
        """The same with another seed, which decides about all that is drawn."""
        stream = replace(self.schedule, schedule=replace(self.schedule.schedule, seed=seed))
        run, fit = replace(self.run, seed=seed), replace(self.fit, seed=seed)
        return replace(self, run=run, fit=fit, schedule=stream)

    def content(self) -> dict[str, dict[str, Any]]:
        """Every key with its value, defaults too: a recipe of this one stage."""
        found = {section: contents(getattr(self, section)) for section in SECTIONS}
        found["model"] = {"kind": self.kind, **found["model"]}
        for section, name in NOT_CHOSEN:
            found[section].pop(name)
        if not self.expands:
            found["expand"].pop("per_example")
        return found


@dataclass(frozen=True, slots=True)
class Recipe:
    """`output` is where its stages leave their folders; a recipe without stages has one without a name."""

    output: str
    stages: tuple[Stage, ...]


# The sections are the settings of a stage.
SECTIONS: dict[str, Any] = {**get_type_hints(Stage), "model": KINDS}
del SECTIONS["name"], SECTIONS["expands"]
# These follow from other keys.
NOT_CHOSEN = {("fit", "goal"): "validation.goal", ("fit", "seed"): "run.seed", ("schedule", "seed"): "run.seed"}
KIND = Key("kind", Literal[*KINDS], "translator", Declared(f"{' or '.join(KINDS)}."))
STAGED = ("data", "expand", "schedule", "batch", "fit", "validation")  # what a stage may set for itself


def keys_of(section: str) -> list[Key]:
    """The keys of a section, and with a dot those of the tables inside it; a model's may come twice."""
    if section == "model":
        return [KIND, *(key for kind in KINDS.values() for key in keys(kind.settings))]
    usual = FIT if section == "fit" else None
    return [key for key in keys(SECTIONS[section], usual) if (section, key.name) not in NOT_CHOSEN]


def find_key(section: str, name: str) -> Key:
    """A key by its name; one that is not known is refused."""
    known = {key.name: key for key in keys_of(section)}
    with within(section):
        refuse_unknown("key", [name], list(known))
    return known[name]


def recipe_of(content: Content) -> Recipe:
    """Check a recipe, and lay out its stages."""
    with blamed():
        refuse_unknown("section", content, [*SECTIONS, "stage"])
        stages = stages_of(content)
        shared = {name: table_of(content.get(name, {}), name) for name in SECTIONS}
        run = _section("run", shared["run"], RunSection)
    names = _names(stages)
    if not stages:
        with blamed():
            return Recipe(run.output, (_stage("", shared),))
    found: list[Stage] = []
    for number, (name, given) in enumerate(zip(names, stages, strict=True)):
        # Where it leaves its model; each but the first starts from the one before.
        place = {"output": f"{run.output}/{name}", **({"init_from": found[-1].run.output} if found else {})}
        with blamed(number, name, given):
            found.append(_stage(name, _of_stage(given, shared, place)))
    return Recipe(run.output, tuple(found))


def stages_of(content: Content) -> list[Any]:
    stages = content.get("stage", [])
    if not isinstance(stages, list) or not all(isinstance(one, Mapping) for one in stages):
        raise SettingsError("is not a list of tables", "begin each stage with [[stage]]", key="stage")
    return stages


@contextmanager
def blamed(stage: int | None = None, name: str = "", given: Content | None = None) -> Iterator[None]:
    """Errors that pass become those of a recipe, or of one of its stages where it sets the key itself."""
    try:
        yield
    except SettingsError as error:
        places: list[Place] = [tuple(key.split(".")) for key in (error.key, *error.also) if key]
        own = any(has(given, place) for place in places)
        raise RecipeError(f'stage "{name}": {error}' if own else str(error), places, stage) from None


def has(table: Any, place: Place) -> bool:
    """Whether a table sets a key."""
    for name in place:
        if isinstance(table, list):
            table = dict(enumerate(table))
        if not isinstance(table, Mapping) or name not in table:
            return False
        table = table[name]
    return bool(place)


def _names(stages: list[Content]) -> list[str]:
    names = [str(one.get("name", "")) for one in stages]
    for number, name in enumerate(names):
        if not name.replace("-", "").replace("_", "").isalnum() or name in names[:number]:
            text = "each stage needs a name of its own, of letters, digits, - and _; its folder has that name"
            raise RecipeError(text, [("name",)], number)
    return names


def _of_stage(given: Content, shared: dict[str, Any], place: Content) -> dict[str, Any]:
    """The tables of a stage: what it sets, over what is set for all."""
    for section in given:
        if section in SECTIONS and section not in STAGED:
            raise SettingsError("is for all stages", f"set it at the top, as [{section}]", key=section)
    refuse_unknown("section", given, ["name", *STAGED])
    own = {section: table_of(given.get(section, {}), section) for section in STAGED}
    return merged(shared, {**own, "run": place})


def merged(top: Content, own: Content) -> dict[str, Any]:
    """Both tables in one, and the tables inside them; where both set a key, the second one does."""
    both = dict(top)
    for key, value in own.items():
        inner = both.get(key)
        both[key] = merged(inner, value) if isinstance(inner, Mapping) and isinstance(value, Mapping) else value
    return both


def _stage(name: str, content: dict[str, Any]) -> Stage:
    kind = KINDS[_kind(content["model"])]
    if content["batch"].get("tokens") is not None:
        content = merged({"batch": {"pairs": None}}, content)
    groups, usual = {**SECTIONS, "model": kind.settings}, {"beam": kind.beam, "fit": FIT}
    if "beam" in content["validation"]:  # which need not give every key: the others are those of [beam]
        beam = _section("beam", content["beam"], BeamSettings, kind.beam)
        usual["validation"] = ValidationSection(beam=beam)
    made = {one: _section(one, content[one], group, usual.get(one)) for one, group in groups.items()}
    goal = "lowest" if made["validation"].goal == PERPLEXITY else "highest"
    made["fit"] = replace(made["fit"], goal=goal)
    found = Stage(name, **made, expands="per_example" in content["expand"]).seeded(made["run"].seed)
    _check_together(found)
    return found


def _section(name: str, content: Content, group: Any, usual: Any = None) -> Any:
    for key in content:
        if (name, key) in NOT_CHOSEN:
            raise SettingsError("follows from another key", f"set {NOT_CHOSEN[name, key]}", key=f"{name}.{key}")
        find_key(name, str(key))
    with within(name):
        return build(group, {key: value for key, value in content.items() if (name, key) != ("model", "kind")}, usual)


def _check_together(stage: Stage) -> None:
    """Refuse sections that do not go together."""
    reads_images = KINDS[stage.kind].reads_images
    if reads_images and not stage.data.features:
        problem = f"does not name a file, but a {stage.kind} reads features of images"
        raise SettingsError(problem, "name one", key="data.features", also=("model.kind",))
    if not reads_images and stage.data.features:
        cure = 'take it out, or set model.kind = "captioner"'
        raise SettingsError("is for captioners", cure, key="data.features", also=("model.kind",))
    if stage.batch.bucket and stage.schedule.schedule.schedule == "uniform":
        problem = "does not go with uniform, which keeps an example's references together"
        cure = "take it out, or choose another schedule"
        raise SettingsError(problem, cure, key="batch.bucket", also=("schedule.name",))
    if stage.wants_lattices and stage.expands and not stage.expand.settings.keep_lattice:
        problem, cure = "needs lattices, which expand does not keep", "set expand.keep_lattice = true"
        raise SettingsError(problem, cure, key=stage.wants_lattices, also=("expand.keep_lattice",))


def _kind(content: Content) -> str:
    """The kind of model; refuses keys of other kinds by name."""
    kind = content.get("kind", "translator")
    with within("model"):
        check(KIND, kind)
        own = {key.name for key in keys(KINDS[kind].settings)}
        for other, key in ((other, key) for other, made in KINDS.items() for key in keys(made.settings)):
            if key.name in content and key.name not in own:
                problem = f"is for a {other}, and this is a {kind}"
                raise SettingsError(problem, "take it out, or set model.kind", key=key.name)
    return str(kind)


def leaves(table: Content, at: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Places of keys that hold values. An empty table is one: it may switch something on."""
    for name, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, (*at, str(name)))
        else:
            yield (*at, str(name)), value
