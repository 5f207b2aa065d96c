"""The bytes that are frozen: tests/golden/.

A change of these files is a change of every result that anybody has. Where that is meant,

    POLYREF_WRITE_GOLDEN=1 python -m pytest tests/cli/test_golden.py

writes them anew; say so in CHANGELOG.md.
"""

import os
from pathlib import Path

import pytest
from samples import Families

GOLDEN = Path(__file__).parent.parent / "golden"
EXAMPLES = GOLDEN / "examples.jsonl"


def compare(content: bytes, name: str) -> None:
    if os.environ.get("POLYREF_WRITE_GOLDEN"):
        (GOLDEN / name).write_bytes(content)
        pytest.skip(f"{name} was written")
    assert content == (GOLDEN / name).read_bytes()


@pytest.fixture
def soft(tmp_path: Path) -> list[str]:
    encoder = Families().save(tmp_path / "families.npz")
    return ["--align", "soft", "--encoder", encoder, "--penalty", "adaptive", "--at-least", "40"]


@pytest.fixture
def options(name: str, soft: list[str]) -> list[str]:
    """How the file of a name is made."""
    return [*(soft if "soft" in name else []), *(["--judge", "bleu"] if name.startswith("expanded") else [])]


NAMES = ["expanded.jsonl", "expanded-soft.jsonl", "judged.jsonl", "judged-soft.jsonl"]


@pytest.mark.parametrize("name", NAMES)
def test_the_bytes_are_those_that_there_always_were(run, name, options):
    compare(run("expand", EXAMPLES, "-k", 12, *options).out, name)


WAYS = [
    ("1", "plain", 1),
    ("2", "plain", 2),
    ("3", "plain", 4),
    pytest.param("4", "compiled", 1, marks=pytest.mark.compiled),
    pytest.param("5", "compiled", 2, marks=pytest.mark.compiled),
]


@pytest.mark.parametrize(("hash_seed", "engine", "workers"), WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_the_bytes_depend_on_no_engine_no_number_of_workers_and_no_hash_seed(
    name, hash_seed, engine, workers, options, run_apart
):
    done = run_apart(
        *["expand", EXAMPLES, "-k", 12, *options, "--engine", engine, "--workers", workers],
        environment={"PYTHONHASHSEED": hash_seed},
    )
    assert done.out == (GOLDEN / name).read_bytes()


@pytest.mark.parametrize("name", ["expanded.jsonl", "judged.jsonl"])
def test_expanding_the_expanded_file_changes_nothing(run, name, options):
    assert run("expand", GOLDEN / name, "-k", 12, *options).out == (GOLDEN / name).read_bytes()
