"""URLs on the command line: read by every verb, written by those that write a file or shards."""

import pytest
from samples import caption_lines

from polyref.remote import Remote

fsspec = pytest.importorskip("fsspec", reason="needs the extra remote")


@pytest.fixture(autouse=True)
def captions():
    Remote("memory://in.jsonl").write_bytes(caption_lines(20).encode())
    yield
    fsspec.filesystem("memory").store.clear()


def test_expanded_shards_are_described_and_streamed(run, tmp_path, indexes):
    (tmp_path / "in.jsonl").write_text(caption_lines(20))
    assert run("expand", "memory://in.jsonl", "-o", "memory://out/", "-k", "5").code == 0
    assert run("expand", tmp_path / "in.jsonl", "-o", tmp_path / "out.jsonl", "-k", "5").code == 0
    assert Remote("memory://out/00000.jsonl").read_bytes() == (tmp_path / "out.jsonl").read_bytes()
    for verb in (["stats", "--json"], ["stream"]):
        there, here = run(*verb, "memory://out/"), run(*verb, tmp_path / "out.jsonl")
        assert there.code == here.code == 0
        assert there.out.replace(b'"memory://out/"', b"") == here.out.replace(
            b'"%b"' % bytes(tmp_path / "out.jsonl"), b""
        )


def test_what_is_wrong_is_one_line_with_the_cure(run):
    for arguments, message in {
        ("stats", "memory://gone.jsonl"): "polyref: memory://gone.jsonl: there is no such file; check the path",
        ("convert", "memory://in.jsonl", "memory://out.src"): (
            "polyref: memory://out.src: several files that belong together can only be written on this machine"
        ),
        ("stats", "nowhere://a.jsonl"): (
            "polyref: nowhere://a.jsonl: cannot be reached (Protocol not known: nowhere); check the address"
        ),
    }.items():
        done = run(*arguments)
        assert (done.code, done.err.strip()) == (2, message)
