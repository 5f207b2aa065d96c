"""The house has an order: a room imports from rooms above it, never from below, and no modules import each other."""

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import polyref

PACKAGE = Path(polyref.__file__).parent
ORDER = """
    errors settings files remote compiled example text data score stats fit encode align lattice judge expansion fresh
    draw scale schedule feed features model experiment report explore cli __main__
"""
ROOMS = ORDER.split()
FRONT = "the package's front"  # __init__.py: it takes from every room, so no room may take from it
MODULES = sorted(set(PACKAGE.rglob("*.py")) - {PACKAGE / "__init__.py"})


def room_of(module: Path) -> str:
    """The room that a module stands in: the first part of its path inside the package."""
    return module.relative_to(PACKAGE).with_suffix("").parts[0]


def rooms_imported(source: str, module: Path) -> Iterator[str]:
    """The room of every import anywhere in a module: at its top, in functions, under TYPE_CHECKING."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _rooms(alias.name.split("."), [])
        elif isinstance(node, ast.ImportFrom):
            yield from _rooms(_absolute(node, module), [alias.name for alias in node.names])


def _absolute(node: ast.ImportFrom, module: Path) -> list[str]:
    named = node.module.split(".") if node.module else []
    if not node.level:
        return named
    inside = ["polyref", *module.relative_to(PACKAGE).parts]
    return inside[: -node.level] + named


def _rooms(path: list[str], names: list[str]) -> Iterator[str]:
    if path[0] != "polyref":
        return
    if len(path) > 1:
        yield path[1]
        return
    for name in names or [FRONT]:
        if name != "__version__":
            yield name if name in ROOMS else FRONT


def is_above_or_same(imported: str, room: str) -> bool:
    return imported in ROOMS and ROOMS.index(imported) <= ROOMS.index(room)


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(PACKAGE)))
def test_a_room_imports_from_rooms_above_it_only(module: Path):
    room = room_of(module)
    assert room in ROOMS, f"{module.name} stands in no known room; give the room its place in the order"
    below = {
        imported
        for imported in rooms_imported(module.read_text("utf-8"), module)
        if not is_above_or_same(imported, room)
    }
    assert not below


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import polyref.cli.main", ["cli"]),
        ("from polyref.scale.workers import Job", ["scale"]),
        ("from polyref import expansion, compiled", ["expansion", "compiled"]),
        ("from polyref import Lattice", [FRONT]),
        ("import polyref", [FRONT]),
        ("from polyref import __version__", []),
        ("def f():\n    from polyref.cli import main", ["cli"]),
        ("if TYPE_CHECKING:\n    from polyref.expansion import expand", ["expansion"]),
        ("from .tokens import join", ["text"]),
        ("from ..lattice import Lattice", ["lattice"]),
        ("from .. import lattice", ["lattice"]),
        ("import json\nfrom collections import deque", []),
    ],
)
def test_every_way_of_importing_a_room_is_noticed(source, expected):
    assert list(rooms_imported(source, PACKAGE / "text" / "tokens.py")) == expected


@pytest.mark.parametrize("imported", ["lattice", "cli", FRONT, "cupboard"])
def test_an_import_from_below_or_from_nowhere_breaks_the_order(imported):
    assert not is_above_or_same(imported, "text")


def test_importing_polyref_does_not_import_what_is_slow_to_load():
    heavy = "numba torch sacrebleu transformers datasets pyarrow ray rich typer"
    assert run_python(f"import sys, polyref; print(*(set({heavy!r}.split()) & set(sys.modules)))") == ""


def test_types_and_the_front_have_the_same_names():
    """What a type checker sees of the package is what it has."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text("utf-8"))
    [seen] = [node for node in tree.body if isinstance(node, ast.If)]
    names = {alias.name for node in seen.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert names == {*polyref.__all__, "PairDataset", "ScheduleBatchSampler", "ScheduleSampler"}
    assert all(hasattr(polyref, name) for name in names)


def test_rooms_are_attributes_of_the_package():
    assert (
        run_python("import polyref; print(polyref.data.__name__, hasattr(polyref, 'cupboard'))") == "polyref.data False"
    )


def test_a_small_expansion_does_not_load_the_compiler():
    code = (
        "import sys, polyref\n"
        "references = polyref.Reference('a b c d e'), polyref.Reference('a x c d e')\n"
        "assert list(polyref.expand([polyref.Example('1', None, references)]))\n"
        "print('numba' in sys.modules)"
    )
    assert run_python(code) == "False"


def imported_modules(source: str, module: Path) -> Iterator[str]:
    """The modules of the package that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            path = ".".join(_absolute(node, module))
            for alias in node.names:
                yield f"{path}.{alias.name}" if f"{path}.{alias.name}" in NAMES else path


def name_of(module: Path) -> str:
    parts = ["polyref", *module.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(module): module for module in MODULES}


def cycle_in(graph: dict[str, set[str]]) -> list[str]:
    """A cycle of modules that import each other, if there is one."""
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            return path[path.index(name) :]
        if name not in done:
            for imported in sorted(graph.get(name, ())):
                if found := visit(imported, [*path, name]):
                    return found
            done.add(name)
        return []

    return next((found for name in sorted(graph) if (found := visit(name, []))), [])


def test_no_modules_import_each_other_not_even_inside_functions():
    graph = {name: set(imported_modules(module.read_text("utf-8"), module)) for name, module in NAMES.items()}
    assert cycle_in(graph) == []


def test_a_cycle_is_found():
    assert cycle_in({"a": {"b", "c"}, "b": set(), "c": {"d"}, "d": {"c"}}) == ["c", "d"]
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": set()}) == []


def test_no_name_of_the_front_is_a_module():
    for name in polyref.__all__:
        assert not inspect.ismodule(getattr(polyref, name)), name
