"""`polyref train`: train the model of a recipe."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from polyref.cli import options as o
from polyref.errors import SettingsError, load_extra

if TYPE_CHECKING:
    from polyref.experiment.recipe import Recipe
    from polyref.experiment.training import Trained


@o.from_settings()
def train(
    recipe: Annotated[str | None, o.argument("RECIPE", "A TOML file; see docs/recipes.md.")] = None,
    override: Annotated[
        list[str] | None, o.option("FILE", "A TOML file that changes keys; may be given again.")
    ] = None,
    changed: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change one key, such as fit.epochs=3; may be given again."),
    ] = None,
    output: Annotated[str | None, o.output("Folder of the model, instead of run.output.", "FOLDER")] = None,
    check: Annotated[bool, typer.Option("--check", help="Only check recipe and files, and print all keys.")] = False,
    keys: Annotated[bool, typer.Option("--keys", help="List all keys of a recipe and what they mean.")] = False,
    as_json: o.JsonOption = False,
) -> None:
    """Train the model of a recipe.

    A run that was stopped or killed goes on when the same command is given again, to the same weights. Under torchrun,
    several processes train one model. Needs torch: pip install "polyref[torch]".
    """  # fmt: skip
    if keys:
        from polyref.experiment.reading import table_of_keys

        o.tell(table_of_keys())
        return
    if recipe is None:
        raise SettingsError("no recipe is given", "name a TOML file, or list all keys with --keys")
    from polyref.experiment.reading import read_recipe, recipe_toml

    changes = [*(changed or []), *([f"run.output={json.dumps(output)}"] if output is not None else [])]
    found = read_recipe(recipe, changes, override or [])
    if check:
        from polyref.experiment.inputs import check_contents

        o.tell(recipe_toml(found))
        check_contents(found)
        return
    load_extra("torch", purpose="training", extra="torch")
    from polyref.experiment.training import train_recipe
    from polyref.fit.processes import rank_of_environment

    with o.training_bar() as show:
        trained = train_recipe(found, say=o.note, on_step=show)
    if rank_of_environment() == 0:
        _show(found, trained, as_json)


def _show(recipe: Recipe, trained: list[Trained], as_json: bool) -> None:
    rows = [{**asdict(one), "folder": str(one.folder)} for one in trained]
    facts = {"stages": [{**row, "validations": row.pop("history")} for row in rows]}
    told = ""
    for one, stage in zip(trained, recipe.stages, strict=True):
        best = f"{stage.validation.goal} {one.best:.4f} after {one.best_updates:,} of {one.updates:,} updates"
        told += f"{o.printable(str(one.folder))}: best validation: {best}\n"
    o.summarise(facts, told, as_json=as_json)
