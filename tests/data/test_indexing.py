"""An index is made once, found again, and never of a file as it was."""

import gzip
import json
import mmap
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from polyref.data import Fields, Input, ReadSettings
from polyref.data import corpus as indexing_module
from polyref.data.corpus import ABOUT, Corpus, default_folder, indexed, open_index
from polyref.errors import InputError, OutputError

RECORDS = [
    {"id": "a", "source": "eins", "references": ["one", "the one"]},
    {"id": "b", "source": "zwei", "references": ["two"]},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    return path


def ids(corpus: Corpus) -> list[str]:
    return [corpus.id(number) for number in range(len(corpus))]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def reads(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Notes each time that a file is read for an index."""
    read, times = Input.examples, []

    def noted(*arguments, **named):
        times.append(arguments)
        return read(*arguments, **named)

    monkeypatch.setattr(Input, "examples", noted)
    return times


def test_a_file_is_read_once(file, indexes, monkeypatch: pytest.MonkeyPatch):
    times = reads(monkeypatch)
    for _ in range(3):
        assert ids(open_index(Input.of(file))) == ["a", "b"]
    assert len(times) == 1
    assert default_folder() == indexes
    [folder] = indexes.iterdir()
    assert folder.name.startswith("data.jsonl-")


def test_the_folder_can_be_chosen(file, indexes, tmp_path: Path):
    open_index(Input.of(file), folder=tmp_path / "deep" / "down")
    assert len(names(tmp_path / "deep" / "down")) == 1
    assert not indexes.exists()


def test_without_a_cache_folder_the_one_in_the_home_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder() == tmp_path / ".cache" / "polyref" / "indexes"


def test_one_file_by_two_names_has_one_index(file, indexes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "link.jsonl").symlink_to(file)
    monkeypatch.chdir(tmp_path)
    for name in (str(file), "data.jsonl", "./data.jsonl", "link.jsonl"):
        open_index(Input.of(name))
    assert len(names(indexes)) == 1


def test_two_files_of_one_name_have_two_indexes(file, indexes, tmp_path: Path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "data.jsonl").write_text(json.dumps(RECORDS[1]))
    assert ids(open_index(Input.of(file))) == ["a", "b"]
    assert ids(open_index(Input.of(tmp_path / "other" / "data.jsonl"))) == ["b"]


def test_each_way_to_read_a_file_has_its_own_index(indexes, tmp_path: Path):
    path = tmp_path / "data.jsonl"
    path.write_text('{"source": "s", "prompt": "p", "references": ["r"], "answers": ["x", "y"]}\n')
    fields = Fields(source="prompt", references="answers")
    assert open_index(Input.of(path)).source(0) == "s"
    assert open_index(Input.of(path, ReadSettings(fields=fields))).source(0) == "p"
    assert open_index(Input.of(path, ReadSettings(fields=fields))).reference(0, 1) == "y"
    assert len(names(indexes)) == 2


@pytest.mark.parametrize("name", ["[a]*?.jsonl", "x" * 240 + ".jsonl", "日本語" * 20 + ".jsonl", " .jsonl"])
def test_names_of_all_kinds_can_be_indexed(name, indexes, file):
    path = file.rename(file.with_name(name))
    for _ in range(2):
        assert ids(open_index(Input.of(path))) == ["a", "b"]
    path.write_text(path.read_text() + "\n")
    open_index(Input.of(path))
    assert len(names(indexes)) == 1


# -- a file that has changed ----------------------------------------------------------------------------------------


def test_a_file_that_has_changed_is_indexed_anew(file, indexes):
    before = open_index(Input.of(file)).fingerprint
    file.write_text(file.read_text() + json.dumps({"id": "c", "source": "drei", "references": ["three"]}) + "\n")
    for _ in range(2):
        corpus = open_index(Input.of(file))
        assert (ids(corpus), corpus.fingerprint != before) == (["a", "b", "c"], True)
    assert len(names(indexes)) == 1


def test_a_change_that_keeps_the_size_is_noticed(file):
    open_index(Input.of(file))
    file.write_text(file.read_text().replace("eins", "Eins"))
    os.utime(file, ns=(1, 1))
    assert open_index(Input.of(file)).source(0) == "Eins"


def test_the_same_content_with_another_date_is_the_same_file(file, monkeypatch: pytest.MonkeyPatch):
    open_index(Input.of(file))
    os.utime(file, ns=(1, 1))
    times = reads(monkeypatch)
    assert ids(open_index(Input.of(file))) == ["a", "b"]
    assert not times


def test_a_file_that_changes_while_it_is_read_is_refused(file, indexes, monkeypatch: pytest.MonkeyPatch):
    read = Input.examples

    def changing(*arguments, **named):
        yield from read(*arguments, **named)
        file.write_text(file.read_text() * 2)

    monkeypatch.setattr(Input, "examples", changing)
    with pytest.raises(InputError, match="the file changed while it was read; start again when it is complete"):
        open_index(Input.of(file))
    assert names(indexes) == []


def in_place(file: Path, content: str) -> None:
    file.write_text(content)


def by_another_file(file: Path, content: str) -> None:
    file.with_name("new").write_text(content)
    file.with_name("new").replace(file)


def through_a_map(file: Path, content: str) -> None:
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as mapped:
        mapped[:] = content.encode()


@pytest.mark.parametrize("change", [in_place, by_another_file, through_a_map])
@pytest.mark.parametrize("is_old", [False, True])
def test_a_change_that_keeps_size_and_date_is_noticed(change, is_old, file, monkeypatch: pytest.MonkeyPatch):
    if is_old:
        monkeypatch.setattr(indexing_module, "_SETTLED", -1)
    before = file.stat()
    open_index(Input.of(file))
    time.sleep(0.02)  # the clock of the system's dates is coarse
    change(file, file.read_text().replace("eins", "zwei"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert open_index(Input.of(file)).source(0) == "zwei"


def test_a_file_is_hashed_again_only_if_it_may_have_changed(file, monkeypatch: pytest.MonkeyPatch):
    stamp, times = indexing_module._stamp, []
    monkeypatch.setattr(indexing_module, "_stamp", lambda path: times.append(path) or stamp(path))
    for settled_after, expected in ((10**18, [2, 1, 1]), (-1, [1, 0, 0])):  # written a moment ago, or long before
        monkeypatch.setattr(indexing_module, "_SETTLED", settled_after)
        for hashed in expected:
            times.clear()
            open_index(Input.of(file))
            assert len(times) == hashed


def test_a_file_that_is_gone_is_refused(file):
    open_index(Input.of(file))
    file.unlink()
    with pytest.raises(InputError, match="there is no such file; check the path"):
        open_index(Input.of(file))


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that cannot be read")
def test_a_file_that_cannot_be_read_is_not_said_to_be_an_index_that_cannot_be_written():
    with pytest.raises(InputError, match="/mem: cannot be read"):
        open_index(Input.of("/proc/self/mem"))


# -- an index that is not whole -------------------------------------------------------------------------------------


def spoil_by_truncation(folder: Path) -> None:
    path = folder / "references.bin"
    path.write_bytes(path.read_bytes()[:-1])


def spoil_by_removal(folder: Path) -> None:
    (folder / "gold-numbers.npy").unlink()


def of_another_version(folder: Path) -> None:
    about = json.loads((folder / ABOUT).read_text())
    (folder / ABOUT).write_text(json.dumps({**about, "version": 0}))


def without_files(folder: Path) -> None:
    about = json.loads((folder / ABOUT).read_text())
    (folder / ABOUT).write_text(json.dumps({**about, "files": {}}))
    (folder / "gold-numbers.npy").unlink()


def without_stamps(folder: Path) -> None:
    about = json.loads((folder / ABOUT).read_text())
    (folder / ABOUT).write_text(json.dumps({**about, "source": "x"}))


@pytest.mark.parametrize(
    "spoil",
    [
        spoil_by_truncation,
        spoil_by_removal,
        of_another_version,
        without_files,
        without_stamps,
        *[
            lambda folder, content=content: (folder / ABOUT).write_bytes(content)
            for content in (b"", b"{", b"[]", b"null", b'{"files": 3}', b"\xff")
        ],
        lambda folder: (folder / ABOUT).unlink(),
    ],
)
def test_an_index_that_is_not_whole_is_made_again(spoil, file, indexes, monkeypatch: pytest.MonkeyPatch):
    expected = open_index(Input.of(file)).fingerprint
    [folder] = indexes.iterdir()
    spoil(folder)
    times = reads(monkeypatch)
    corpus = open_index(Input.of(file))
    assert (ids(corpus), corpus.fingerprint) == (["a", "b"], expected)
    assert len(times) == 1
    open_index(Input.of(file))
    assert len(times) == 1
    assert names(indexes) == [folder.name]


def flip(path: Path, place: int, bits: int = 1) -> None:
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= bits  # a file that was made again may be shorter
    path.write_bytes(content)


def everything(corpus: Corpus) -> list[object]:
    return [corpus.fingerprint, corpus.broken, corpus.tabbed, *[corpus.example(n) for n in range(len(corpus))]]


def test_an_index_that_is_damaged_anywhere_is_made_again(file, indexes, monkeypatch: pytest.MonkeyPatch):
    expected = everything(open_index(Input.of(file)))
    [folder] = indexes.iterdir()
    times = reads(monkeypatch)
    count = 0
    for name in names(folder):
        size = (folder / name).stat().st_size
        for place in {0, size // 3, size // 2, size - 1} if size else ():
            flip(folder / name, place)
            assert everything(open_index(Input.of(file))) == expected, (name, place)
            count += name != ABOUT
            assert len(times) >= count
    assert names(indexes) == [folder.name]


def test_nothing_is_left_of_a_file_that_is_refused(file, indexes):
    file.write_text(file.read_text() + "{broken\n")
    with pytest.raises(InputError, match=r"data\.jsonl:3: broken JSON"):
        open_index(Input.of(file))
    assert names(indexes) == []


def test_a_file_that_is_refused_leaves_its_older_index(file, indexes):
    open_index(Input.of(file))
    before = file.read_text()
    file.write_text("{broken\n")
    with pytest.raises(InputError, match="broken JSON"):
        open_index(Input.of(file))
    file.write_text(before)
    assert ids(open_index(Input.of(file))) == ["a", "b"]
    assert len(names(indexes)) == 1


# -- several runs ---------------------------------------------------------------------------------------------------


def index_many_times(path: str) -> int:
    for _ in range(5):
        corpus = open_index(Input.of(path))
        assert ids(corpus) == ["a", "b"]
    return len(corpus)


def test_runs_that_begin_at_once_all_find_the_index(file, indexes):
    with multiprocessing.get_context("fork").Pool(4) as pool:
        assert pool.map(index_many_times, [str(file)] * 12, chunksize=1) == [2] * 12
    assert len(names(indexes)) == 1


def test_of_two_runs_that_make_an_index_at_once_the_first_is_kept(file, indexes, monkeypatch: pytest.MonkeyPatch):
    read = Input.examples

    def overtaken(*arguments, **named):
        monkeypatch.setattr(Input, "examples", read)
        first = open_index(Input.of(file))
        [folder] = [path for path in indexes.iterdir() if not path.name.startswith(".")]
        made.append((first, folder.stat().st_ino))
        yield from read(*arguments, **named)

    made: list[tuple[Corpus, int]] = []
    monkeypatch.setattr(Input, "examples", overtaken)
    second = open_index(Input.of(file))
    [folder] = indexes.iterdir()
    assert made[0][1] == folder.stat().st_ino
    assert ids(made[0][0]) == ids(second) == ["a", "b"]


def ended_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks which processes there are")
def test_what_killed_runs_have_left_is_swept_and_what_others_make_is_not(file, indexes):
    open_index(Input.of(file))
    [folder] = indexes.iterdir()
    host, ended = indexing_module._HOST, ended_process()
    gone = [f".{folder.name}.{ended}.{host}.abc", f".{folder.name}.{ended}.{host}.abc.old"]
    kept = [
        f".{folder.name}.{os.getpid()}.{host}.abc",  # at work
        f".{folder.name}.{ended}.another-machine.abc",  # perhaps at work, on another machine that shares the folder
        f".other-0123.{ended}.{host}.abc",  # of another file
        f".{folder.name}.x.{host}.abc",
    ]
    for name in (*gone, *kept):
        (indexes / name).mkdir()
        (indexes / name / "references.bin").write_text("half")
    open_index(Input.of(file))
    assert names(indexes) == sorted([folder.name, *kept])


def test_a_corpus_stays_readable_when_its_index_is_made_anew(file):
    before = open_index(Input.of(file))
    file.write_text(file.read_text().replace("eins", "uno"))
    after = open_index(Input.of(file))
    assert (before.source(0), after.source(0)) == ("eins", "uno")


# -- where it cannot be written -------------------------------------------------------------------------------------


def test_a_folder_that_cannot_be_is_refused(file, tmp_path: Path):
    (tmp_path / "taken").write_text("")
    for folder in (tmp_path / "taken", tmp_path / "taken" / "below"):
        with pytest.raises(OutputError) as refused:
            open_index(Input.of(file), folder=folder)
        assert ": cannot be written (" in str(refused.value)
        assert str(refused.value).endswith("; name another folder of indexes")


def test_a_full_disk_is_said_and_leaves_nothing(file, indexes, monkeypatch: pytest.MonkeyPatch):
    def full(*arguments, **named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(indexing_module, "save_corpus", full)
    with pytest.raises(OutputError, match=r": cannot be written \(No space left on device\)"):
        open_index(Input.of(file))
    assert names(indexes) == []


# -- parallel text, pipes -------------------------------------------------------------------------------------------


def test_parallel_text_is_one_index_of_all_its_files(indexes, tmp_path: Path):
    for name, text in (("src", "eins\nzwei\n"), ("ref0", "one\ntwo\n"), ("ref1", "1\n\n")):
        (tmp_path / f"data.{name}").write_text(text)
    for given in (tmp_path / "data.src", tmp_path / "data"):
        corpus = open_index(Input.of(given))
        assert [corpus.reference(0, 1), corpus.reference(1, 0)] == ["1", "two"]
        assert corpus.numbers["gold"].tolist() == [2, 1]
    assert len(names(indexes)) == 1
    (tmp_path / "data.ref1").write_text("I\n\n")
    assert open_index(Input.of(tmp_path / "data.src")).reference(0, 1) == "I"


def test_a_compressed_file_is_indexed(file, tmp_path: Path):
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert open_index(Input.of(packed)).fingerprint == open_index(Input.of(file)).fingerprint


def test_a_byte_order_mark_is_not_part_of_the_data(file, tmp_path: Path):
    marked = tmp_path / "marked.jsonl"
    marked.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert open_index(Input.of(marked)).fingerprint == open_index(Input.of(file)).fingerprint


def test_a_pipe_is_indexed_for_this_one_time(file, indexes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "passing"))
    (tmp_path / "passing").mkdir()
    os.mkfifo(tmp_path / "pipe")
    writer = multiprocessing.get_context("fork").Process(
        target=(tmp_path / "pipe").write_bytes, args=(file.read_bytes(),)
    )
    writer.start()
    with indexed(Input.of(tmp_path / "pipe")) as corpus:
        assert ids(corpus) == ["a", "b"]
        assert len(names(tmp_path / "passing")) == 1
    writer.join()
    assert names(tmp_path / "passing") == []
    assert not indexes.exists()


def test_a_file_is_indexed_for_good(file, indexes):
    with indexed(Input.of(file)) as corpus:
        assert ids(corpus) == ["a", "b"]
    assert len(names(indexes)) == 1


def test_progress_is_told_every_thousand_examples(tmp_path: Path):
    path = tmp_path / "many.jsonl"
    path.write_text("".join(f'{{"source": {number}, "references": ["r"]}}\n' for number in range(2500)))
    told: list[int] = []
    open_index(Input.of(path), on_progress=told.append)
    assert told == [1000, 2000]
