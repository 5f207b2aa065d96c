"""Encodings that are kept on disk."""

import hashlib
import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyref.encode import WordVectors, cache
from polyref.encode.cache import CachedEncoder
from polyref.encode.encoder import Encoding
from polyref.errors import InputError, OutputError, SettingsError

ODD_WORDS = ["a", "b", "a b", "", " ", "a\0b", "é", "e\u0301", "\ud800", "\ud800\udc00", "\U00010000", "1", "\x01a"]
WORDS = st.sampled_from(ODD_WORDS) | st.text(st.characters(codec=None, exclude_categories=()), max_size=3)
SENTENCES = st.lists(st.lists(WORDS, max_size=3) | st.lists(WORDS, max_size=3).map(tuple), max_size=4)
CAPTIONS = [[f"dog{number}", "runs", "over", "grass"] for number in range(60)]


# A disk that nothing waits for, where there is one: the laws open hundreds of files.
MEMORY = next((place for place in ["/dev/shm"] if os.access(place, os.W_OK)), None)


class Scrambler:
    """An encoder whose vectors are any bits at all, drawn from the whole sentence; it remembers what it was asked."""

    name, baseline = "scrambler", 0.25

    def __init__(self, hash: str = "abc", size: int = 5):
        self.hash, self.size = hash, size
        self.calls: list[list[tuple[str, ...]]] = []

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Encoding]:
        self.calls.append([tuple(sentence) for sentence in sentences])
        return [self._encode(tuple(sentence)) for sentence in sentences]

    def _encode(self, sentence: tuple[str, ...]) -> Encoding:
        bits = hashlib.shake_256(ascii((self.hash, sentence)).encode()).digest((2 * self.size + 1) * len(sentence))
        known = np.frombuffer(bits, np.uint8, len(sentence)) % 2 == 1
        vectors = np.frombuffer(bits, np.float16, offset=len(sentence)).copy()
        return Encoding(vectors.reshape(len(sentence), self.size), known)


def content(encodings: list[Encoding]) -> list[tuple[object, ...]]:
    """All there is to an encoding, the exact bits of its vectors too."""
    return [
        (*(array.dtype, array.shape, array.tobytes(), array.flags.writeable, array.flags.c_contiguous),)
        for encoding in encodings
        for array in (encoding.vectors, encoding.known)
    ]


def plain(sentences: Sequence[Sequence[str]], hash: str = "abc", size: int = 5) -> list[tuple[object, ...]]:
    return content(Scrambler(hash, size).encode(sentences))


def count_kept(path: Path) -> int:
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return int(database.execute("SELECT count(*) FROM encodings").fetchone()[0])


def filled(folder: Path, size: int = 5) -> Path:
    encoder = CachedEncoder(Scrambler(size=size), folder)
    encoder.encode(CAPTIONS)
    return encoder.path


# -- the same as without it -----------------------------------------------------------------------------------------


@given(st.lists(st.tuples(SENTENCES, st.booleans()), max_size=5))
def test_encodings_are_the_same_bits_with_and_without_the_cache(calls):
    with TemporaryDirectory(dir=MEMORY) as folder:
        encoder = CachedEncoder(Scrambler(), folder)
        for sentences, is_opened_again in calls:
            if is_opened_again:
                del encoder
                encoder = CachedEncoder(Scrambler(), folder)
            assert content(encoder.encode(sentences)) == plain(sentences)
        del encoder


@given(st.lists(SENTENCES, max_size=5))
def test_each_distinct_sentence_is_encoded_once_in_the_order_of_its_call(calls):
    expected, seen = [], set()
    with TemporaryDirectory(dir=MEMORY) as folder:
        encoder = CachedEncoder(inner := Scrambler(), folder)
        for sentences in calls:
            encoder.encode(sentences)
            new = [sentence for sentence in dict.fromkeys(map(tuple, sentences)) if sentence not in seen]
            expected += [new] if new else []
            seen |= set(new)
        del encoder
    assert inner.calls == expected


@given(st.lists(WORDS, max_size=4), st.lists(WORDS, max_size=4))
def test_two_sentences_share_a_key_only_if_all_their_words_are_the_same(left, right):
    [left_key, right_key] = cache._keys("abc", [left, right])
    assert (left_key == right_key) == (left == right)


def test_words_are_separate_items(tmp_path: Path):
    sentences = [["a b"], ["a", "b"], ["a", "", "b"], ["ab"], [], [""], ["", ""]]
    for _ in range(2):
        encoder = CachedEncoder(inner := Scrambler(), tmp_path)
        assert content(encoder.encode(sentences)) == plain(sentences)
        del encoder
    assert not inner.calls


def test_many_sentences_are_found_again(tmp_path: Path):
    sentences = [[str(number)] for number in range(1001)]
    for _ in range(2):
        encoder = CachedEncoder(Scrambler(), tmp_path)
        assert content(encoder.encode(sentences[::-1])) == plain(sentences[::-1])
        del encoder


def test_name_hash_and_baseline_are_the_encoders(tmp_path: Path):
    encoder = CachedEncoder(Scrambler(), tmp_path)
    assert (encoder.name, encoder.hash, encoder.baseline) == ("scrambler", "abc", 0.25)


def test_an_encoding_that_the_file_could_not_give_back_is_not_kept(tmp_path: Path):
    class Wide(Scrambler):
        def _encode(self, sentence: tuple[str, ...]) -> Encoding:
            return Encoding(np.ones((len(sentence), 2), np.float64), np.ones(len(sentence), bool))

    for _ in range(2):
        encoder = CachedEncoder(Wide(), tmp_path)
        assert content(encoder.encode(CAPTIONS)) == content(Wide().encode(CAPTIONS))
        del encoder


# -- encoders and their files ---------------------------------------------------------------------------------------


def test_encoders_with_different_hashes_do_not_mix(tmp_path: Path):
    for hash in ("abc", "abd", "a/../b", "a\0", "ABC", "\ud800", "x" * 300):
        for is_known in (False, True):
            encoder = CachedEncoder(inner := Scrambler(hash), tmp_path)
            assert content(encoder.encode(CAPTIONS)) == plain(CAPTIONS, hash)
            assert bool(inner.calls) != is_known
            del encoder
    assert (tmp_path / "encodings-abc.sqlite").is_file()
    assert {path.suffix for path in tmp_path.rglob("*")} == {".sqlite"}


def test_a_file_under_the_name_of_another_encoder_is_not_believed(tmp_path: Path):
    filled(tmp_path).rename(tmp_path / "encodings-abd.sqlite")
    encoder = CachedEncoder(Scrambler("abd"), tmp_path)
    assert content(encoder.encode(CAPTIONS)) == plain(CAPTIONS, "abd")


def test_an_encoder_without_a_hash_is_refused(tmp_path: Path):
    with pytest.raises(SettingsError, match="my table has no hash"):
        CachedEncoder(WordVectors(["a"], np.ones((1, 2)), name="my table"), tmp_path)


def test_no_more_is_added_than_allowed_and_all_is_returned(tmp_path: Path, caplog):
    encoder = CachedEncoder(Scrambler(size=1000), tmp_path, max_bytes=200_000)
    for start in range(0, 60, 20):
        some = CAPTIONS[start : start + 20]
        assert content(encoder.encode(some)) == plain(some, size=1000)
    assert "as many as allowed" in caplog.text
    path = encoder.path
    del encoder
    assert 0 < count_kept(path) < 60
    assert path.stat().st_size < 220_000


def test_a_cache_that_is_no_longer_used_closes_its_file(tmp_path: Path):
    encoder = CachedEncoder(Scrambler(), tmp_path)
    encoder.encode(CAPTIONS)
    assert encoder.path.with_name(f"{encoder.path.name}-wal").exists()
    del encoder
    assert [path.name for path in tmp_path.iterdir()] == ["encodings-abc.sqlite"]


# -- several processes ----------------------------------------------------------------------------------------------


def encode_in_parts(folder: Path, start: int) -> bool:
    """What a worker does: all sentences in small calls, from a place of its own."""
    encoder = CachedEncoder(Scrambler(), folder)
    parts = [[CAPTIONS[(start + at + step) % 60] for step in range(7)] for at in range(60)]
    return all(content(encoder.encode(part)) == plain(part) for part in parts) and not encoder._has_warned


def test_two_processes_may_write_at_once(tmp_path: Path):
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for folder in (tmp_path / "first", tmp_path / "second"):
            assert all(pool.starmap(encode_in_parts, [(folder, start) for start in (0, 7, 30, 59)], chunksize=1))
            assert count_kept(folder / "encodings-abc.sqlite") == 60


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_leaves_the_file_of_its_parent_alone(tmp_path: Path):
    encoder = CachedEncoder(Scrambler(), tmp_path)
    encoder.encode(CAPTIONS[:30])
    child = os.fork()
    if not child:
        is_same = content(encoder.encode(CAPTIONS)) == plain(CAPTIONS)
        del encoder
        os._exit(0 if is_same else 1)
    assert os.waitpid(child, 0)[1] == 0
    encoder.encode(CAPTIONS[30:40])
    assert count_kept(encoder.path) == 40


ENDLESS_WRITER = """
import itertools, sys
from test_cache import CachedEncoder, Scrambler
encoder = CachedEncoder(Scrambler(size=768), sys.argv[1])
for call in itertools.count():
    print(call, flush=True)
    encoder.encode([[f"dog{call}", str(number)] for number in range(40)])
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9 here")
@pytest.mark.parametrize("calls", [0, 3, 12])
def test_a_killed_writer_leaves_a_usable_cache(calls, tmp_path: Path):
    command = [sys.executable, "-c", ENDLESS_WRITER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parent) as writer:
        assert writer.stdout is not None
        for _ in range(calls + 1):
            writer.stdout.readline()
        time.sleep(0.003)
        writer.kill()
    sentences = [[f"dog{call}", str(number)] for call in range(calls + 2) for number in range(40)]
    encoder = CachedEncoder(inner := Scrambler(size=768), tmp_path)
    assert content(encoder.encode(sentences)) == plain(sentences, size=768)
    # What a call computed is there altogether or not at all, and earlier calls are there.
    assert sum(map(len, inner.calls)) in (0, 40, 80)
    assert count_kept(encoder.path) >= len(sentences)


# -- what cannot be written -----------------------------------------------------------------------------------------


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file may grow beyond a size: what a full disk is to a program."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_loses_no_results_and_writing_goes_on_when_there_is_room(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(cache, "_PAUSE", 0.0)
    encoder = CachedEncoder(Scrambler(size=3000), tmp_path)
    encoder.encode(CAPTIONS[:5])
    with largest_file(400_000):
        assert content(encoder.encode(CAPTIONS)) == plain(CAPTIONS, size=3000)
        assert content(encoder.encode(CAPTIONS[:5])) == plain(CAPTIONS[:5], size=3000)
    assert count_kept(encoder.path) < 60
    assert content(encoder.encode(CAPTIONS)) == plain(CAPTIONS, size=3000)
    assert count_kept(encoder.path) == 60


def test_one_warning_says_that_encodings_are_not_kept(tmp_path: Path, monkeypatch, caplog):
    monkeypatch.setattr(cache, "_PAUSE", 0.0)
    encoder = CachedEncoder(Scrambler(size=3000), tmp_path)
    with largest_file(400_000):
        for _ in range(3):
            encoder.encode(CAPTIONS)
    [record] = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage().startswith(f"{encoder.path}: new encodings are not kept (")


def test_a_full_disk_is_a_clear_error_when_the_cache_is_made(tmp_path: Path):
    with (
        largest_file(1000),
        pytest.raises(OutputError, match=r"encodings-abc\.sqlite: .*cannot be opened \(.*has room"),
    ):
        CachedEncoder(Scrambler(), tmp_path)
    assert count_kept(filled(tmp_path)) == 60


def test_a_file_that_another_process_holds_loses_no_results(tmp_path: Path, monkeypatch, caplog):
    monkeypatch.setattr(cache, "_WAIT", 0.05)
    encoder = CachedEncoder(inner := Scrambler(), tmp_path)
    encoder.encode(CAPTIONS[:5])
    with closing(sqlite3.connect(encoder.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for _ in range(2):
            assert content(encoder.encode(CAPTIONS)) == plain(CAPTIONS)
        assert "locked" in caplog.text
        assert [len(call) for call in inner.calls] == [5, 55, 55]
        with pytest.raises(OutputError, match=r"cannot be opened \(.*locked\)"):
            CachedEncoder(Scrambler(), tmp_path)
    assert count_kept(encoder.path) == 5


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
@pytest.mark.parametrize("is_filled", [False, True])
def test_a_read_only_folder_is_a_clear_error(is_filled, tmp_path: Path):
    if is_filled:
        filled(tmp_path).chmod(0o400)
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match=r"encodings-abc\.sqlite: .*cannot be opened .*can be written to"):
        CachedEncoder(Scrambler(), tmp_path)
    tmp_path.chmod(0o700)


def test_a_folder_that_is_a_file_is_a_clear_error(tmp_path: Path):
    (tmp_path / "taken").touch()
    for folder in (tmp_path / "taken", tmp_path / "taken" / "below", tmp_path / "\0"):
        with pytest.raises(OutputError, match=r"cannot be opened \(.+\); give a folder"):
            CachedEncoder(Scrambler(), folder)


def test_folders_are_made(tmp_path: Path):
    assert filled(tmp_path / "a" / "b") == tmp_path / "a" / "b" / "encodings-abc.sqlite"


# -- damage ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"not a database, but long enough to be one" * 100, b"SQLite format 3\0" * 999])
def test_a_file_that_is_no_cache_is_named_and_deleting_it_helps(content, tmp_path: Path):
    path = tmp_path / "encodings-abc.sqlite"
    path.write_bytes(content)
    with pytest.raises(InputError, match="delete it") as refused:
        CachedEncoder(Scrambler(), tmp_path)
    assert refused.value.file == str(path)
    path.unlink()
    assert count_kept(filled(tmp_path)) == 60


def test_a_database_with_other_columns_is_named(tmp_path: Path):
    with closing(sqlite3.connect(tmp_path / "encodings-abc.sqlite")) as database:
        database.execute("CREATE TABLE encodings (key, value)")
    with pytest.raises(InputError, match=r"encodings-abc\.sqlite: .*no such column.*delete it"):
        CachedEncoder(Scrambler(), tmp_path)


@pytest.mark.parametrize(
    "damage",
    [
        *("vectors = zeroblob(40)", "vectors = NULL", "vectors = 'text'", "vectors = x'00'", "size = 4, words = 5"),
        *("known = zeroblob(1)", "known = NULL", "words = -1", "words = 'x'", "words = NULL", "size = 1 << 62"),
        *("checksum = NULL", "checksum = 0", "checksum = 'x'"),
    ],
)
def test_a_damaged_entry_is_computed_and_written_again(damage, tmp_path: Path):
    path = filled(tmp_path)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"UPDATE encodings SET {damage} WHERE rowid IN (3, 4)")
    for expected in ([CAPTIONS[2:4]], []):
        encoder = CachedEncoder(inner := Scrambler(), tmp_path)
        assert content(encoder.encode(CAPTIONS)) == plain(CAPTIONS)
        assert [list(map(list, call)) for call in inner.calls] == expected
        del encoder
    assert count_kept(path) == 60


def test_entries_that_have_changed_places_are_not_believed(tmp_path: Path):
    path = filled(tmp_path)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TEMP TABLE was AS SELECT rowid AS number, key FROM encodings")
        database.execute("UPDATE encodings SET key = -rowid")
        database.execute("UPDATE encodings SET key = (SELECT key FROM was WHERE number = 61 - encodings.rowid)")
    encoder = CachedEncoder(Scrambler(), tmp_path)
    assert content(encoder.encode(CAPTIONS)) == plain(CAPTIONS)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("whole"), size=200)


def refused_file(folder: str) -> str | None:
    """The file that is refused as damaged; None if it gives the same bits."""
    try:
        encoder = CachedEncoder(Scrambler(size=200), folder)
        for _ in range(2):
            assert content(encoder.encode(CAPTIONS)) == plain(CAPTIONS, size=200)
    except InputError as error:
        return error.file
    return None


@settings(max_examples=100)
@given(data=st.data())
def test_a_damaged_file_is_named_or_gives_the_same_bits(whole, data):
    with TemporaryDirectory(dir=MEMORY) as folder:
        path = Path(shutil.copy(whole, folder))
        damaged = bytearray(path.read_bytes())
        if data.draw(st.booleans()):
            del damaged[data.draw(st.integers(1, len(damaged) - 1)) :]
        pages = len(damaged) // 4096
        for _ in range(data.draw(st.integers(0, 6))):
            # Most of what SQLite itself reads stands at the start of a page.
            page = data.draw(st.integers(0, pages))
            at = 4096 * page + data.draw(st.integers(0, 60) | st.integers(0, 4095))
            damaged[at : at + 1] = data.draw(st.binary(min_size=1, max_size=1))
        path.write_bytes(damaged)
        refused = refused_file(folder)
        if refused is not None:
            assert refused == str(path)
            path.unlink()
            assert count_kept(filled(Path(folder), size=200)) == 60


def test_damage_during_a_run_is_named(tmp_path: Path):
    path = filled(tmp_path, size=2000)
    encoder = CachedEncoder(Scrambler(size=2000), tmp_path)
    with path.open("r+b") as stream:
        stream.seek(4096)
        stream.write(b"\xff" * (path.stat().st_size - 4096))
    with pytest.raises(InputError, match=r"encodings-abc\.sqlite: .*malformed.*delete it"):
        encoder.encode(CAPTIONS)
