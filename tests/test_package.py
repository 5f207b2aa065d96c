"""What is promised about the package: nothing large comes unasked; its pages are complete and have no dead links."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from runpy import run_path

import pytest

import polyref

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]


def test_the_base_has_no_torch_and_so_no_cuda():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = {re.match(r"[\w-]+", requirement)[0] for requirement in project["dependencies"]}
    assert names == {"numpy", "numba", "sacrebleu", "safetensors", "typer", "rich", "regex"}


def test_the_reference_has_every_public_name():
    """`make docs` checks that, too; here it needs none of the site's packages."""
    entries = re.findall(r"^::: polyref\.(\w+)$", (ROOT / "docs/api.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(entries) == sorted([*polyref.__all__, "PairDataset", "ScheduleBatchSampler", "ScheduleSampler"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_finds_it(page: Path):
    links = LINK.findall(page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_a_package_index_gets_the_readme_without_links_to_files():
    for_an_index = run_path(str(ROOT / "setup.py"))["for_an_index"]
    text = for_an_index((ROOT / "README.md").read_text("utf-8"))
    assert not LINK.search(text)
    assert for_an_index("see [a](docs/a.md#b), [c](https://d.e) ![f](g.svg)").splitlines()[0] == (
        "see a, [c](https://d.e) *Picture: f.*"
    )
