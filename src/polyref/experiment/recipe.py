"""A recipe: all that a training run depends on.

In:   tables of keys and values, as a TOML file has them.
Out:  a Recipe: its stages one after the other, each with all its settings, checked.
Not:  reading files, overriding (reading.py), what the keys mean in words (keys.py), training (training.py).

A section is a frozen dataclass, most of them the settings of the room that does the work, so that each default is
written once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, cast, get_args

from polyref.align import VETO_KINDS, AdaptivePenalty, AlignSettings, Similarity, VetoKind
from polyref.align.settings import Alignment
from polyref.data import Fields
from polyref.errors import SettingsError
from polyref.experiment.checking import nearest, section_of
from polyref.feed.stream import StreamSettings
from polyref.fit import Decay, FitSettings
from polyref.fit.settings import Device
from polyref.fresh import FreshSettings
from polyref.model import CAPTIONING, TRANSLATING, BeamSettings, CaptionerSettings, TranslatorSettings
from polyref.schedule import Order, ScheduleSettings, schedule_named
from polyref.schedule.batches import BatchSettings
from polyref.score.settings import Tokenizer, metrics_of

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


@dataclass(frozen=True, slots=True)
class RunSection:
    output: str
    seed: int = 0
    init_from: str = ""
    threads: int = 0
    device: Device = "auto"

    def __post_init__(self) -> None:
        if not self.output.strip():
            raise SettingsError("the output has no name; name a folder")
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
        self.alignment()

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
        scores = [name for name in (*self.metrics, self.goal) if name != PERPLEXITY]
        if scores:
            metrics_of(scores)
        if self.goal not in (*self.metrics, PERPLEXITY):
            raise SettingsError(f'the goal is "{self.goal}", which is not among the metrics; add it, or choose another')
        if self.examples < 0 or self.at_once < 1:
            raise SettingsError("examples is 0 for all, or more; at_once is 1 or more")


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
NOT_CHOSEN = ("goal", "seed")  # of the loop: they follow from validation and from run
STAGED = ("data", "expand", "schedule", "batch", "fit", "validation")  # what a stage may set for itself


def recipe_of(content: Content) -> Recipe:
    """Check a recipe, and lay out its stages."""
    nearest("section", content, [*SECTIONS, "stage"])
    stages = content.get("stage", [])
    if not isinstance(stages, list) or not all(isinstance(one, dict) for one in stages):
        raise SettingsError('"stage" is no list of tables; begin each stage with [[stage]]')
    shared = {name: _table(name, content.get(name, {})) for name in SECTIONS}
    grid = _grid(dict(shared.pop("grid")))
    output = section_of("run", shared["run"], RunSection).output
    if not stages:
        return Recipe(output, (_stage("", shared),), grid)
    names = [str(one.get("name", "")) for one in stages]
    if not all(name and name.replace("-", "").replace("_", "").isalnum() for name in names) or len(set(names)) < len(
        names
    ):
        raise SettingsError("each stage needs a name of its own, of letters, digits, - and _; its folder has that name")
    found: list[Stage] = []
    for name, given in zip(names, stages, strict=True):
        nearest(f'section of stage "{name}"', given, ["name", *STAGED])
        own = {section: {**shared[section], **_table(section, given.get(section, {}))} for section in shared}
        own["run"]["output"] = f"{output}/{name}"
        if found:
            own["run"]["init_from"] = found[-1].run.output
        found.append(_stage(name, own))
    return Recipe(output, tuple(found), grid)


def _stage(name: str, content: dict[str, Any]) -> Stage:
    kind, model = _model(content["model"])
    batch = dict(content["batch"])
    if "tokens" in batch:
        batch.setdefault("pairs", None)
    run = section_of("run", content["run"], RunSection)
    beam = section_of("beam", {**asdict(_beam(kind)), **content["beam"]}, BeamSettings)
    validation = section_of("validation", content["validation"], ValidationSection, beam=beam)
    for unchosen in NOT_CHOSEN:
        if unchosen in content["fit"]:
            cure = {"goal": "set validation.goal", "seed": "set run.seed"}[unchosen]
            raise SettingsError(f'"fit.{unchosen}" follows from another key; {cure}')
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
    if found.kind == "captioner" and not found.data.features:
        raise SettingsError('a captioner reads features of images, but "data.features" names no file; name one')
    return found


def _model(content: dict[str, Any]) -> tuple[str, TranslatorSettings | CaptionerSettings]:
    given = dict(content)
    kind = given.pop("kind", "translator")
    if kind not in MODELS:
        raise SettingsError(f'"model.kind" is "{kind}"; choose one of {", ".join(get_args(Kind))}')
    return kind, section_of("model", given, MODELS[kind])


def _beam(kind: str) -> BeamSettings:
    return CAPTIONING if kind == "captioner" else TRANSLATING


def _table(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise SettingsError(f'"{name}" is no table; write it as [{name}]')
    return dict(value)


def _grid(grid: dict[str, Any]) -> dict[str, list[Any]]:
    """Values of keys that a series of runs goes through; the keys must exist."""
    for key, values in grid.items():
        section, _, name = key.rpartition(".")
        where = section.split(".")[-1]
        nearest("section of the grid", [where], [one for one in SECTIONS if one != "grid"])
        nearest(f'key of the grid in "{where}"', [name], keys_of(where))
        if not isinstance(values, list) or not values:
            raise SettingsError(f'"grid.{key}" is no list of values; give [one, other]')
    return grid


def keys_of(section: str) -> list[str]:
    """The keys of a section."""
    if section == "model":
        return list(dict.fromkeys(["kind", *(one.name for made in MODELS.values() for one in fields(made))]))
    return [one.name for one in fields(SECTIONS[section]) if section != "fit" or one.name not in NOT_CHOSEN]
