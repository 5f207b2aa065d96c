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


def test_hard_alignment_gives_the_bytes_that_it_always_gave(run):
    compare(run("expand", EXAMPLES, "-k", 12).out, "expanded.jsonl")


def test_soft_alignment_gives_the_bytes_that_it_always_gave(run, soft):
    compare(run("expand", EXAMPLES, "-k", 12, *soft).out, "expanded-soft.jsonl")


WAYS = [
    ("1", "plain", 1),
    ("2", "plain", 2),
    ("3", "plain", 4),
    pytest.param("4", "compiled", 1, marks=pytest.mark.compiled),
    pytest.param("5", "compiled", 2, marks=pytest.mark.compiled),
]


@pytest.mark.parametrize(("hash_seed", "engine", "workers"), WAYS)
@pytest.mark.parametrize("name", ["expanded.jsonl", "expanded-soft.jsonl"])
def test_the_bytes_depend_on_no_engine_no_number_of_workers_and_no_hash_seed(
    name, hash_seed, engine, workers, soft, run_apart
):
    options = soft if "soft" in name else []
    done = run_apart(
        *["expand", EXAMPLES, "-k", 12, *options, "--engine", engine, "--workers", workers],
        environment={"PYTHONHASHSEED": hash_seed},
    )
    assert done.out == (GOLDEN / name).read_bytes()


def test_expanding_the_expanded_file_changes_nothing(run):
    assert run("expand", GOLDEN / "expanded.jsonl", "-k", 12).out == (GOLDEN / "expanded.jsonl").read_bytes()
