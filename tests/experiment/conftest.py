"""What runs are trained on here; and they need not outlive the machine."""

import os

import made_up
import pytest


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A training and a validation set."""
    return made_up.translation(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The same, of images with features."""
    return made_up.images(tmp_path_factory.mktemp("photos"))
