"""The files of an index are closed when nobody has its corpus any more."""

from __future__ import annotations

import gc
from pathlib import Path

from samples import caption_lines

from polyref.feed import stream


def test_an_index_that_is_let_go_closes_its_files(tmp_path: Path):
    (tmp_path / "captions.jsonl").write_text(caption_lines(3), "utf-8")
    data = stream(tmp_path / "captions.jsonl", index=tmp_path / "index")
    files = [texts.file for texts in data.corpus.texts.values() if texts.file is not None]
    assert files and not any(file.closed for file in files)
    del data
    gc.collect()
    assert all(file.closed for file in files)
