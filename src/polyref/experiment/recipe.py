"""A recipe: all that a training run depends on.

In:   tables of keys and values, as a TOML file has them.
Out:  a Recipe: its stages one after the other, each with all its settings, checked.
Not:  reading files, overriding (reading.py), what the keys mean in words (keys.py), training (training.py).

A section is a frozen dataclass, most of them the settings of the room that does the work, so that each default is
written once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, cast, get_args

from polyref.align import VETO_KINDS, AdaptivePenalty, AlignSettings, Similarity, VetoKind
from polyref.align.settings import Alignment
from polyref.data import Fields
from polyref.errors import SettingsError
from polyref.expand import ExpandSettings
from polyref.experiment.checking import Place, RecipeError, nearest, section_of
from polyref.experiment.grid import grid_of
from polyref.feed.stream import StreamSettings
from polyref.fit import Decay, FitSettings
from polyref.fit.settings import Device
from polyref.fresh import FreshSettings
from polyref.model import CAPTIONING, TRANSLATING, BeamSettings, CaptionerSettings, TranslatorSettings
from polyref.schedule import Order, ScheduleSettings, schedule_named
from polyref.schedule.batches import BatchSettings
from polyref.score import Tokenizer, metrics_of
from polyref.text.subwords import SMALLEST

Content = Mapping[str, Any]
Kind = Literal["translator", "captioner"]
MODELS: dict[str, type[TranslatorSettings] | type[CaptionerSettings]] = {
    "translator": TranslatorSettings,
    "captioner": CaptionerSettings,
}
PERPLEXITY = "perplexity"
# Scores begin at 0 and jump, where the perplexity of the language model falls steadily: more patience than there.
DECAY = Decay(factor=0.7, gain=0.0, stop_after=10)
_MOST_THREADS = 1024
_MOST_WORKERS = 1024
_MOST_SUBWORDS = 1_000_000


@dataclass(frozen=True, slots=True)
class RunSection:
    output: str
    seed: int = 0
    init_from: str = ""
    threads: int = 0
    device: Device = "auto"

    def __post_init__(self) -> None:
        if not self.output.strip():
            raise SettingsError("output has no name; name a folder")
        if not 0 <= self.seed < 2**32:
            raise SettingsError(f"seed is {self.seed}; give a number from 0 to {2**32 - 1}")
        if not 0 <= self.threads <= _MOST_THREADS:
            raise SettingsError(f"threads is {self.threads}; give 0 for torch's own choice, or up to {_MOST_THREADS}")


@dataclass(frozen=True, slots=True)
class DataSection:
    train: str
    dev: str
    features: str = ""
    feature_ids: str = ""
    standardise: bool = True
    fold_case: bool = False
    id_field: str = "id"
    source_field: str = "source"
    references_field: str = "references"

    def __post_init__(self) -> None:
        for name in ("train", "dev"):
            if not getattr(self, name).strip():
                raise SettingsError(f"{name} names no file; name one")
        self.fields()

    def fields(self) -> Fields:
        return Fields(self.id_field, self.source_field, self.references_field)


@dataclass(frozen=True, slots=True)
class ExpandSection:
    """`per_example` None: the file is trained on as it is."""

    per_example: int | None = None
    align: Alignment = "hard"
    encoder: str = ""
    similarity: Similarity = "rescaled"
    penalty: float = AlignSettings().penalty  # type: ignore[assignment]
    adaptive: AdaptivePenalty | None = None
    veto: tuple[str, ...] = VETO_KINDS
    position: float = AlignSettings().position
    fluency: float | None = None
    keep_lattice: bool = False
    workers: int = 1

    def __post_init__(self) -> None:
        self.settings()
        replace(self.alignment(), penalty=self.penalty)  # which an adaptive one hides
        if not 1 <= self.workers <= _MOST_WORKERS:
            raise SettingsError(f"workers is {self.workers}; give a number from 1 to {_MOST_WORKERS}")

    def settings(self) -> ExpandSettings:
        usual = ExpandSettings()
        return replace(
            usual,
            per_example=usual.per_example if self.per_example is None else self.per_example,
            fluency=self.fluency,
            keep_lattice=self.keep_lattice,
            align=self.alignment(),
        )

    def alignment(self) -> AlignSettings:
        veto = cast("tuple[VetoKind, ...]", self.veto)
        penalty = self.adaptive or self.penalty
        return AlignSettings(self.align, self.similarity, penalty, veto=veto, position=self.position)


@dataclass(frozen=True, slots=True)
class ScheduleSection:
    name: str = "shuffle"
    order: Order = "given"
    limit: int | None = None
    gold_only: bool = False
    draw: bool = False
    gold_share: float | None = None
    fresh: FreshSettings | None = None

    def __post_init__(self) -> None:
        self.settings(0)

    def settings(self, seed: int) -> StreamSettings:
        schedule = ScheduleSettings(schedule_named(self.name), self.order, seed, self.draw, self.gold_share)
        return StreamSettings(schedule, self.limit, self.gold_only, self.fresh)


@dataclass(frozen=True, slots=True)
class SubwordsSection:
    source: int = 8000
    target: int = 8000
    joint: bool = False

    def __post_init__(self) -> None:
        for name in ("source", "target"):
            size = getattr(self, name)
            if not SMALLEST <= size <= _MOST_SUBWORDS:
                few = ": 256 bytes are units already" if size < SMALLEST else ""
                raise SettingsError(f"{name} is {size}; give a number from {SMALLEST} to {_MOST_SUBWORDS:,}{few}")


@dataclass(frozen=True, slots=True)
class ValidationSection:
    metrics: tuple[str, ...] = ("bleu", "cider")
    goal: str = "bleu"
    tokenizer: Tokenizer | None = None
    fold_case: bool = False
    examples: int = 0
    at_once: int = 50
    beam: BeamSettings | None = None

    def __post_init__(self) -> None:
        # Under one name each, the one that scores come under.
        object.__setattr__(self, "metrics", tuple(dict.fromkeys(map(_metric_named, self.metrics))))
        object.__setattr__(self, "goal", _metric_named(self.goal))
        if self.goal not in (*self.metrics, PERPLEXITY):
            raise SettingsError(f'the goal is "{self.goal}", which is not among the metrics; add it, or choose another')
        if self.examples < 0:
            raise SettingsError(f"examples is {self.examples}; give 0 for all, or more")
        if self.at_once < 1:
            raise SettingsError(f"at_once is {self.at_once}; give 1 or more")


def _metric_named(name: str) -> str:
    return metrics_of([name], PERPLEXITY)[0]


@dataclass(frozen=True, slots=True)
class Stage:
    """One run of the loop, with all its settings."""

    name: str
    run: RunSection
    data: DataSection
    expand: ExpandSection
    schedule: ScheduleSection
    batch: BatchSettings
    subwords: SubwordsSection
    model: TranslatorSettings | CaptionerSettings
    fit: FitSettings
    validation: ValidationSection
    beam: BeamSettings

    @property
    def kind(self) -> Kind:
        return "translator" if isinstance(self.model, TranslatorSettings) else "captioner"

    def content(self) -> dict[str, dict[str, Any]]:
        """Every key with its value, defaults too: a recipe of this one stage."""
        found = {section: dict(asdict(getattr(self, section))) for section in SECTIONS if section != "grid"}
        found["model"] = {"kind": self.kind, **found["model"]}
        for name in NOT_CHOSEN:
            found["fit"].pop(name)
        return found


@dataclass(frozen=True, slots=True)
class Recipe:
    """`output` is where its stages leave their folders; a recipe without stages is one that has no name."""

    output: str
    stages: tuple[Stage, ...]
    grid: dict[str, list[Any]] = field(default_factory=dict)


SECTIONS: dict[str, Any] = {
    "run": RunSection,
    "data": DataSection,
    "expand": ExpandSection,
    "schedule": ScheduleSection,
    "batch": BatchSettings,
    "subwords": SubwordsSection,
    "model": MODELS,
    "fit": FitSettings,
    "validation": ValidationSection,
    "beam": BeamSettings,
    "grid": dict,
}
TABLES: dict[str, Any] = {"adaptive": AdaptivePenalty, "fresh": FreshSettings, "decay": Decay}  # inside sections
NOT_CHOSEN = ("goal", "seed")  # of the loop: they follow from validation and from run
STAGED = ("data", "expand", "schedule", "batch", "fit", "validation")  # what a stage may set for itself


def recipe_of(content: Content) -> Recipe:
    """Check a recipe, and lay out its stages."""
    nearest("section", content, [*SECTIONS, "stage"])
    stages = content.get("stage", [])
    if not isinstance(stages, list) or not all(isinstance(one, Mapping) for one in stages):
        raise RecipeError('"stage" is no list of tables; begin each stage with [[stage]]', ("stage",))
    shared = {name: _table(name, content.get(name, {})) for name in SECTIONS}
    names = _names(stages)
    grid = grid_of(shared.pop("grid"), names, {one: keys_of(one) for one in shared})
    run = section_of("run", shared["run"], RunSection)
    if not stages:
        return Recipe(run.output, (_stage("", shared),), grid)
    found: list[Stage] = []
    for number, (name, given) in enumerate(zip(names, stages, strict=True)):
        # Where it leaves its model; each but the first starts from the one before.
        place = {"output": f"{run.output}/{name}", **({"init_from": found[-1].run.output} if found else {})}
        try:
            found.append(_stage(name, _of_stage(name, given, shared, place)))
        except RecipeError as error:
            own = any(_sets(given, key) for key in error.keys)
            said = f'stage "{name}": {error}' if own else str(error)
            raise RecipeError(said, *error.keys, stage=number) from None
    return Recipe(run.output, tuple(found), grid)


def _names(stages: list[Content]) -> list[str]:
    names = [str(one.get("name", "")) for one in stages]
    for number, name in enumerate(names):
        if not name.replace("-", "").replace("_", "").isalnum() or name in names[:number]:
            text = "each stage needs a name of its own, of letters, digits, - and _; its folder has that name"
            raise RecipeError(text, ("name",), stage=number)
    return names


def _of_stage(name: str, given: Content, shared: dict[str, Any], place: Content) -> dict[str, Any]:
    """The tables of a stage: what it sets, over what is set for all."""
    for section in given:
        if section in SECTIONS and section not in STAGED:
            raise RecipeError(f'"{section}" is for all stages; set it at the top, as [{section}]', (section,))
    nearest("section", given, ["name", *STAGED])
    own = {section: _table(section, given.get(section, {})) for section in STAGED}
    return merged(shared, {**own, "run": place})


def merged(top: Content, own: Content) -> dict[str, Any]:
    """Both tables in one, and the tables inside them; where both set a key, the second one does."""
    both = dict(top)
    for key, value in own.items():
        inner = both.get(key)
        both[key] = merged(inner, value) if isinstance(inner, Mapping) and isinstance(value, Mapping) else value
    return both


def _sets(table: Content, key: Place) -> bool:
    found: Any = table
    for name in key:
        if not isinstance(found, Mapping) or name not in found:
            return False
        found = found[name]
    return bool(key)


def _stage(name: str, content: dict[str, Any]) -> Stage:
    kind, model = _model(content["model"])
    batch = dict(content["batch"])
    if batch.get("tokens") is not None:
        batch.setdefault("pairs", None)
    run = section_of("run", content["run"], RunSection)
    beam = section_of("beam", {**asdict(_beam(kind)), **content["beam"]}, BeamSettings)
    validation = section_of("validation", content["validation"], ValidationSection, beam=beam)
    for unchosen in NOT_CHOSEN:
        if unchosen in content["fit"]:
            cure = {"goal": "set validation.goal", "seed": "set run.seed"}[unchosen]
            raise RecipeError(f'"fit.{unchosen}" follows from another key; {cure}', ("fit", unchosen))
    goal = "lowest" if validation.goal == PERPLEXITY else "highest"
    fit = {"decay": {}, **content["fit"], "goal": goal, "seed": run.seed}
    found = Stage(
        name=name,
        run=run,
        data=section_of("data", content["data"], DataSection),
        expand=section_of("expand", content["expand"], ExpandSection),
        schedule=section_of("schedule", content["schedule"], ScheduleSection),
        batch=section_of("batch", batch, BatchSettings),
        subwords=section_of("subwords", content["subwords"], SubwordsSection),
        model=model,
        fit=section_of("fit", fit, FitSettings, decay=DECAY),
        validation=validation,
        beam=beam,
    )
    _check_together(found)
    return found


def _check_together(stage: Stage) -> None:
    """Refuse sections that do not go together."""
    features = ("data", "features")
    if stage.kind == "captioner" and not stage.data.features:
        text = 'a captioner reads features of images, but "data.features" names no file; name one'
        raise RecipeError(text, features, ("model", "kind"))
    if stage.kind == "translator" and stage.data.features:
        raise RecipeError('"data.features" is for captioners; take it out, or set model.kind = "captioner"', features)
    if stage.batch.bucket and schedule_named(stage.schedule.name) == "uniform":
        text = "uniform keeps an example's references together; take batch.bucket out, or choose another schedule"
        raise RecipeError(text, ("batch", "bucket"), ("schedule", "name"))
    if stage.schedule.fresh is not None and stage.expand.per_example is not None and not stage.expand.keep_lattice:
        text = "schedule.fresh draws from lattices, which expand does not keep; set expand.keep_lattice = true"
        raise RecipeError(text, ("expand", "keep_lattice"), ("schedule", "fresh"))


def _model(content: dict[str, Any]) -> tuple[str, TranslatorSettings | CaptionerSettings]:
    given = dict(content)
    kind = given.pop("kind", "translator")
    if kind not in get_args(Kind):
        raise RecipeError(f'"model.kind" is "{kind}"; choose one of {", ".join(get_args(Kind))}', ("model", "kind"))
    own = [one.name for one in fields(MODELS[kind])]
    for other, made in MODELS.items():
        for name in (one.name for one in fields(made)):
            if name in given and name not in own:
                text = f'"model.{name}" is for a {other}, and this is a {kind}; take it out, or set model.kind'
                raise RecipeError(text, ("model", name))
    return kind, section_of("model", given, MODELS[kind])


def _beam(kind: str) -> BeamSettings:
    return CAPTIONING if kind == "captioner" else TRANSLATING


def _table(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise RecipeError(f'"{name}" is no table; write it as [{name}]', (name,))
    return dict(value)


def keys_of(section: str) -> list[str]:
    """The keys of a section, and with a dot those of the tables inside it."""
    if section == "model":
        return list(dict.fromkeys(["kind", *(one.name for made in MODELS.values() for one in fields(made))]))
    names = [one.name for one in fields(SECTIONS[section]) if section != "fit" or one.name not in NOT_CHOSEN]
    inner = {"beam": BeamSettings, **TABLES} if section == "validation" else TABLES
    return [*names, *(f"{name}.{one.name}" for name in names if name in inner for one in fields(inner[name]))]
