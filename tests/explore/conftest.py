from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from served import Served, serving, write_examples

pytest.importorskip("starlette", reason='the explorer needs starlette: pip install "polyref[explore]"')
pytest.importorskip("uvicorn", reason='the explorer needs uvicorn: pip install "polyref[explore]"')


@pytest.fixture(scope="session")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_examples(tmp_path_factory.mktemp("explore") / "examples.jsonl")


@pytest.fixture(scope="session")
def served(file: Path) -> Iterator[Served]:
    with serving(file) as found:
        yield found
