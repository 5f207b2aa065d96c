"""`polyref compile`: what it says, and where it cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import Finished

from polyref import compiled


@pytest.mark.compiled
def test_kernels_that_are_there_are_not_compiled_again(run):
    compiled.compile_all()
    count = len(compiled._kernels())
    folder = compiled.package_folder() if compiled.is_in_package() else compiled.cache_folder()
    assert run("compile") == Finished(0, f"{count} kernels were there already, in {folder}\n".encode(), "")
    found = json.loads(run("compile", "--json").out)
    assert found.pop("seconds") >= 0
    assert found == {"kernels": count, "folder": str(folder), "were_there": True}


def test_a_folder_that_cannot_be_written_is_named(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(compiled, "is_in_package", lambda: False)
    done = run("compile")
    assert (done.code, done.out) == (2, b"")
    assert done.err.startswith(f"polyref: the kernels cannot be kept: {tmp_path / 'file'}/kernels-")
    assert done.err.endswith("cannot be written (Not a directory); set NUMBA_CACHE_DIR to another folder\n")


def test_without_a_compiler_there_is_nothing_to_do(run, monkeypatch: pytest.MonkeyPatch):
    reason = "numba cannot be loaded (it is not there); install it with: pip install numba"
    monkeypatch.setattr(compiled, "why_none", lambda: reason)
    said = f"polyref: there is nothing to compile with: {reason}\n"
    assert run("compile") == Finished(2, b"", said)


def test_a_package_that_cannot_be_written_is_named(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(compiled, "is_in_package", lambda: False)
    folder = tmp_path / "file" / "kernels" / "kernels-0"
    monkeypatch.setattr(compiled, "package_folder", lambda: folder)
    cure = "leave --in-package out, or install polyref where you can write"
    said = f"polyref: {folder}: cannot be written (Not a directory); {cure}\n"
    assert run("compile", "--in-package") == Finished(2, b"", said)
