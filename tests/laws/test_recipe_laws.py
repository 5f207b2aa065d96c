"""What holds for every recipe: it is refused in one line, or it is read back from what is written of it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyref.errors import SettingsError
from polyref.experiment.reading import read_recipe, recipe_toml, toml_of
from polyref.experiment.recipe import SECTIONS, STAGED, recipe_of

RECIPES = [path for path in (Path(__file__).parents[2] / "recipes").rglob("*.toml") if path.name != "small.toml"]

sizes = st.integers(1, 3000)
shares = st.floats(0.01, 0.99)
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1).filter(str.strip)
beam = st.fixed_dictionaries({}, optional={"beam": sizes, "longest": sizes, "power": st.floats(0.1, 5)})
CHOICES: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "data": {"train": texts, "dev": texts, "fold_case": st.booleans()},
    "expand": {
        "per_example": sizes,
        "align": st.sampled_from(["hard", "soft"]),
        "penalty": st.just("adaptive") | st.floats(0, 1),
        "penalty_floor": st.floats(0, 0.9),
        "tokenizer": st.sampled_from(["words", "characters"]),
        "veto": st.lists(st.sampled_from(["numbers", "negation"])),
        "fluency": st.floats(-100, 100),
    },
    "schedule": {"name": st.sampled_from(["first", "sample-one", "shuffle"]), "limit": sizes},
    "batch": {"pairs": sizes, "tokens": sizes, "bucket": sizes},
    "fit": {
        "clip": st.floats(1e-300, 1e300),
        "average": shares,
        "decay": st.fixed_dictionaries({}, optional={"factor": shares, "stop_after": sizes}),
    },
    "validation": {
        "metrics": st.just(["bleu", "perplexity"]),
        "goal": st.sampled_from(["bleu", "perplexity"]),
        "beam": beam,
    },
}
own = st.fixed_dictionaries({}, optional={name: st.fixed_dictionaries({}, optional=CHOICES[name]) for name in STAGED})


@st.composite
def recipes(draw: st.DrawFn) -> dict[str, Any]:
    """Tables that make sense, with up to three stages."""
    tables: dict[str, Any] = draw(own)
    tables["data"] = {"train": draw(texts), "dev": draw(texts), **tables.get("data", {})}
    tables["run"] = {"output": draw(texts), "seed": draw(st.integers(0, 2**32 - 1)), "init_from": draw(texts)}
    tables["beam"] = draw(beam)
    tables["stage"] = [{"name": f"s{number}", **draw(own)} for number in range(draw(st.integers(0, 3)))]
    return tables


@given(recipes())
@settings(max_examples=25, deadline=None)
def test_a_recipe_is_read_back_from_what_is_written_of_it(tables):
    recipe = recipe_of(tables)
    assert recipe_of(tomllib.loads(recipe_toml(recipe))) == recipe
    for stage in recipe.stages:
        [again] = recipe_of(tomllib.loads(toml_of(stage))).stages
        assert again.content() == stage.content()


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.name)
def test_the_recipes_here_are_read_back_from_what_is_written_of_them(path: Path):
    recipe = read_recipe(path)
    assert recipe_of(tomllib.loads(recipe_toml(recipe))) == recipe
    assert len(recipe.stages) == max(1, path.read_text().count("[[stage]]"))


names = st.sampled_from([*SECTIONS, "stage", "name", "decay", "epochs", "penalty", "train", "output", "beam", "x"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(names, values), st.booleans())
@settings(max_examples=80, deadline=None)
def test_what_is_no_recipe_is_refused_in_one_line(tables, with_basis):
    basis = {"run": {"output": "out"}, "data": {"train": "a", "dev": "b"}} if with_basis else {}
    try:
        recipe = read_recipe({**basis, **tables})
    except SettingsError as error:
        assert "; " in str(error) or "?" in str(error)
        return
    assert recipe_of(tomllib.loads(recipe_toml(recipe))) == recipe
