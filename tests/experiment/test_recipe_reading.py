"""How a recipe is read and changed, which file is blamed for a mistake, and how it is written down."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from polyref.errors import InputError, PolyrefError, SettingsError
from polyref.experiment.reading import read_recipe, recipe_toml, toml_of
from polyref.experiment.recipe import recipe_of

ROOT = Path(__file__).parents[2]
RECIPES = [path for path in sorted((ROOT / "recipes").rglob("*.toml")) if path.name != "small.toml"]
SMALLEST = {"run": {"output": "out"}, "data": {"train": "a.jsonl", "dev": "b.jsonl"}}
STAGED = """
[run]
output = "out"
[data]
train = "a.jsonl"
dev = "b.jsonl"
[fit]
clip = 2.0
[[stage]]
name = "one"
fit = {epochs = 5, learning_rate = 0.1}
[[stage]]
name = "two"
fit = {epochs = 7}
schedule = {limit = 4}
"""


@pytest.fixture
def staged(tmp_path: Path) -> Path:
    path = tmp_path / "recipe.toml"
    path.write_text(STAGED)
    return path


def test_a_key_is_changed_wherever_the_recipe_sets_it(staged: Path):
    one, two = read_recipe(staged, overrides=["fit.epochs=1", "fit.clip=3", "schedule.limit=9", "run.seed=8"]).stages
    assert (one.fit.epochs, two.fit.epochs) == (1, 1)
    assert (one.fit.clip, two.fit.clip) == (3.0, 3.0)
    assert (one.schedule.limit, two.schedule.limit) == (None, 9)
    assert (one.run.seed, two.fit.seed) == (8, 8)


def test_a_stage_alone_is_changed_by_its_name(staged: Path):
    one, two = read_recipe(staged, overrides=["stage.two.fit.epochs=1"]).stages
    assert (one.fit.epochs, two.fit.epochs) == (5, 1)
    with pytest.raises(SettingsError, match='there is no stage "three" to change'):
        read_recipe(staged, overrides=["stage.three.fit.epochs=1"])


def test_override_files_come_first_and_single_keys_last(staged: Path, tmp_path: Path):
    for name, epochs in (("a.toml", 2), ("b.toml", 3)):
        (tmp_path / name).write_text(
            f"[fit]\nepochs = {epochs}\naverage = 0.9\n[[stage]]\nname = 'one'\nbatch = {{pairs = 5}}"
        )
    files = [tmp_path / "a.toml", tmp_path / "b.toml"]
    one, two = read_recipe(staged, override_files=files).stages
    assert (one.fit.epochs, two.fit.average, one.batch.pairs, two.batch.pairs) == (3, 0.9, 5, 64)
    assert read_recipe(staged, override_files=files, overrides=["fit.epochs=4"]).stages[0].fit.epochs == 4


@pytest.mark.parametrize(
    ("setting", "found"),
    [
        ("data.train=other file.jsonl", "other file.jsonl"),
        ('data.train="quoted"', "quoted"),
        ("data.train=a=b", "a=b"),
    ],
)
def test_a_value_that_is_not_toml_is_a_string(setting, found):
    assert read_recipe(SMALLEST, overrides=[setting]).stages[0].data.train == found


def test_an_empty_value_takes_a_key_out():
    tables = {**SMALLEST, "fit": {"average": 0.9}}
    assert read_recipe(tables, overrides=["fit.average="]).stages[0].fit.average is None
    assert tables["fit"] == {"average": 0.9}  # the caller's tables stay


@pytest.mark.parametrize("setting", ["epochs=3", "fit.epochs", "=3", "fit.=3"])
def test_a_setting_without_a_key_is_refused(setting):
    with pytest.raises(SettingsError, match=r"sets nothing; write section\.key=value"):
        read_recipe(SMALLEST, overrides=[setting])


def test_a_key_inside_a_table_is_changed_where_it_is_set_and_else_for_all():
    stages = [{"name": "one", "fit": {"decay": {"factor": 0.9}}}, {"name": "two"}]
    tables = {**SMALLEST, "stage": stages}
    one, two = read_recipe(tables, overrides=["fit.decay.factor=0.5", "fit.decay.stop_after=4"]).stages
    assert (one.fit.decay.factor, two.fit.decay.factor) == (0.5, 0.7)
    assert (one.fit.decay.stop_after, two.fit.decay.stop_after) == (4, 4)


def test_an_empty_table_of_a_file_changes_nothing_in_it(tmp_path: Path):
    (tmp_path / "on.toml").write_text("[fit]\ndecay = {}\n[validation]\nbeam = {}\n")
    files = [tmp_path / "on.toml"]
    [stage] = read_recipe({**SMALLEST, "fit": {"decay": {"factor": 0.8}}}, override_files=files).stages
    assert (stage.fit.decay.factor, stage.validation.beam) == (0.8, stage.beam)
    assert read_recipe(SMALLEST).stages[0].validation.beam is None


@pytest.mark.parametrize("setting", ['"fit".epochs=2', "fit.'epochs'=2"])
def test_keys_of_a_setting_may_be_in_quotes(setting):
    assert read_recipe(SMALLEST, overrides=[setting]).stages[0].fit.epochs == 2


# -- blame ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[fit]\n\nepoch = 3", "ov.toml:3: fit.epoch is not a known key"),
        ("[fti]\nepochs = 3", "ov.toml:1: fti is not a known section"),
        ("[fti]", "ov.toml:1: fti is not a known section"),
        ("fit.epochs = 0", 'ov.toml:1: stage "one": fit.epochs is 0'),
        ("[fit]\ndecay = {facter = 3}", "ov.toml:2: fit.decay.facter is not a known key"),
        ("[fit]\nclip = 1.0\n[fit.decay]\nfacter = 3", "ov.toml:4: fit.decay.facter is not a known key"),
        ("[fit]\naverage = 'much'", 'ov.toml:2: fit.average is "much"'),
        ("[[stage]]\nname = 'two'\n[stage.fit]\nepochs = 0", 'ov.toml:4: stage "two": fit.epochs is 0'),
        ("[[stage]]\nname = 'two'\nfit = {epochs = 0}", 'ov.toml:3: stage "two": fit.epochs is 0'),
        ("[stage.two.fit]\nepochs = 0", 'ov.toml:2: stage "two": fit.epochs is 0'),
        ("[stage.three.fit]\nepochs = 1", 'ov.toml:1: there is no stage "three" to change'),
        ("[[stage]]\nfit = {epochs = 1}", 'ov.toml:1: there is no stage "" to change'),
        ("stage = 3", "ov.toml:1: stage is not a list of tables; begin each stage with [[stage]]"),
        ("stage = ['x']", "ov.toml:1: stage is not a list of tables; begin each stage with [[stage]]"),
        ('x = """\n[fit]\nepoch = 1\n"""\n[fit]\nepoch = 1', "ov.toml:1: x is not a known section"),
    ],
)
def test_a_mistake_in_an_override_is_blamed_on_its_file_and_line(staged: Path, tmp_path: Path, content, said):
    path = tmp_path / "ov.toml"
    path.write_text(content)
    with pytest.raises(SettingsError) as refused:
        read_recipe(staged, override_files=[path])
    assert str(refused.value).startswith(f"{tmp_path}/{said}")


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("fit.epoch=3", 'fit.epoch is not a known key; did you mean "epochs"?'),
        ("fit.clip=0", "fit.clip is 0; give a number above 0"),
        ("fit.epochs=0", 'stage "one": fit.epochs is 0'),
        ("stage.two=3", "stage.two is 3; give a table"),
        ("stage.two.fit=3", 'stage "two": fit is not a table'),
        ("stage.x.fit.epochs=3", 'there is no stage "x" to change'),
        ("fit.averag=", 'fit.averag is not a known key; did you mean "average"?'),
        ("stage.two.ft.average=", 'ft is not a known section; did you mean "fit"?'),
        ("subwords.target=100000000000000000000000", "subwords.target is a number with too many digits"),
        ("subwords.target=" + "1" * 5000, 'subwords.target is "1111'),
        ("data.dev=", "data.dev is missing; give it"),
        ("schedule.gold_only=true", 'stage "two": schedule.limit does not cut gold references'),
    ],
)
def test_a_mistake_in_a_setting_is_blamed_on_it(staged: Path, setting, said):
    with pytest.raises(SettingsError) as refused:
        read_recipe(staged, overrides=["fit.clip=3", setting])
    assert str(refused.value).startswith(f"{setting[:200]}: {said}")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("clip = 2.0", "clipp = 2.0", ":8: fit.clipp is not a known key"),
        ("fit = {epochs = 7}", "fit = {epochs = 0}", ':14: stage "two": fit.epochs is 0'),
        ("fit = {epochs = 7}", "fit = 7", ':14: stage "two": fit is not a table'),
        ('name = "two"', 'name = "one"', ":13: each stage needs a name of its own"),
        ('dev = "b.jsonl"', "", ": data.dev is missing; give it"),
        ("[[stage]]", "[[stag]]", ':9: stag is not a known section; did you mean "stage"?'),
    ],
)
def test_a_mistake_in_the_recipe_is_blamed_on_it_whatever_comes_over_it(staged: Path, old, new, said):
    assert old in STAGED
    staged.write_text(STAGED.replace(old, new))
    with pytest.raises(SettingsError) as refused:
        read_recipe(staged, overrides=["fit.epochs=1"] if "epochs" not in new else ["fit.average=0.9"])
    assert str(refused.value).startswith(f"{staged}{said}")


def test_a_number_of_thousands_of_digits_is_no_toml(tmp_path: Path):
    path = tmp_path / "recipe.toml"
    path.write_text("[fit]\nepochs = " + "1" * 5000)
    with pytest.raises(InputError, match=r"recipe\.toml: is not TOML"):
        read_recipe(path)


# -- writing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.name)
def test_a_recipe_written_out_whole_is_read_back_as_it_was(path: Path):
    for stage in read_recipe(path).stages:
        [again] = recipe_of(tomllib.loads(toml_of(stage))).stages
        assert again.content() == stage.content()
        assert again.fit == stage.fit


def test_what_stages_share_is_written_once(staged: Path):
    recipe = read_recipe(staged, overrides=["run.init_from=model"])
    text = recipe_toml(recipe)
    assert recipe_of(tomllib.loads(text)) == recipe
    assert [text.count(line) for line in ("clip = 2.0\n", "epochs = 5\n", "limit = 4\n", "epochs = 20")] == [1, 1, 1, 0]


def test_a_stage_that_expands_alone_is_written_so_that_it_is_read_back():
    stages = [{"name": "one", "expand": {"per_example": 5}}, {"name": "two"}]
    recipe = recipe_of({**SMALLEST, "stage": stages})
    assert recipe_of(tomllib.loads(recipe_toml(recipe))) == recipe


def test_a_text_with_any_sign_is_written_so_that_it_is_read_back():
    name = "".join(map(chr, range(1, 256))) + "\u2028\ufeff"
    [stage] = recipe_of({**SMALLEST, "data": {"train": name, "dev": "b"}}).stages
    assert recipe_of(tomllib.loads(toml_of(stage))).stages[0].data.train == name


@pytest.mark.parametrize("content", ["[fit", "a = ", b"\xff\xfe"])
def test_a_file_that_is_no_recipe_is_named(tmp_path: Path, content):
    path = tmp_path / "recipe.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=r"recipe\.toml: is not"):
        read_recipe(path)
    with pytest.raises(PolyrefError, match=r"gone.toml: there is no such file"):
        read_recipe(tmp_path / "gone.toml")


@pytest.mark.parametrize(
    "content",
    [
        "a = " + "[" * 5000,
        "a = " + "{b=" * 5000,
        "a." * 5000 + "b = 1",
        "[" + "a." * 5000 + "b]",
        "[run]\n" + "#" * 10**6,
    ],
    ids=["lists", "tables", "a key", "a section", "a comment"],
)
def test_what_is_nested_or_long_beyond_any_recipe_is_refused(tmp_path: Path, content):
    path = tmp_path / "recipe.toml"
    path.write_text(content)
    with pytest.raises(InputError, match=r"recipe\.toml: has more than "):
        read_recipe(path)
    if "=" in content:
        with pytest.raises(SettingsError, match=r"^fit\.epochs"):
            read_recipe(SMALLEST, [f"fit.epochs={content.partition('=')[2]}" + "[" * 5000])


def test_a_byte_order_mark_before_a_recipe_is_passed_over(tmp_path: Path):
    path = tmp_path / "recipe.toml"
    path.write_bytes(b"\xef\xbb\xbf" + STAGED.encode())
    path.with_suffix(".bare").write_text(STAGED)
    assert read_recipe(path) == read_recipe(path.with_suffix(".bare"))
