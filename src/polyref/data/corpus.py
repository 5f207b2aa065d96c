"""A data set laid out so that any of its texts is found at once, and kept so that the next run finds it too.

In:   examples, one after the other; or a file in any format, and a folder for indexes.
Out:  a Corpus: ids, sources and references by number, in memory or in a folder that is mapped and not read.
Not:  the order of a training run (schedule/).

An index is made anew where its file has changed, and where it is damaged: each of its files has a checksum, which is
looked at once in a run. A run that goes on must not do so with other data unnoticed: it compares fingerprints.
"""

from __future__ import annotations

import glob
import hashlib
import io
import json
import logging
import mmap
import os
import platform
import secrets
import shutil
import weakref
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from time import sleep, time_ns
from typing import Any, BinaryIO
from zlib import crc32

import numpy as np
import numpy.typing as npt

from polyref.data.formats.format import has_breaks
from polyref.data.formats.jsonl import lattice_json, lattice_of
from polyref.data.opening import changed, located
from polyref.data.reading import Input, ReadSettings
from polyref.errors import InputError
from polyref.example import Example, PseudoReference, Reference
from polyref.files import passing_folder, reading, whole_files, writing
from polyref.remote import Place, is_remote, path_at

Array = npt.NDArray[Any]
Stamp = dict[str, Any]  # what a file is known by
OnProgress = Callable[[int], None]  # is told now and then how many examples have been indexed
ABOUT = "index.json"
VERSION = 3
_log = logging.getLogger(__name__)
_HOST = platform.node()[:40]
_TRIES, _PAUSE = 50, 0.02  # opening an index that other runs make anew
_LARGE = 1 << 28
_GAP = 1 << 12  # bytes that are rather read than passed over
_PIECE = 1 << 20  # bytes that are read together, about
_SETTLED = 2 * 10**9  # nanoseconds in which the date of a file may stay the same while its content changes
_TEXTS = ("ids", "sources", "references", "lattices")
_NUMBERS = {
    "gold": "I",  # gold references of each example
    "pseudo": "I",  # its pseudo-references
    "new": "I",  # the sentences that its kept lattice holds besides, as far as 32 bits go
    "is_text": "B",  # whether its source is a text, and not other JSON
    "source_words": "I",
    "reference_words": "I",  # of each reference, as those below
    "weights": "d",
    "bleus": "f",  # -1 for a gold one
    "crossings": "i",  # -1 for a gold one, and where they were not counted
}
_FILES = [
    *[f"{name}{end}" for name in _TEXTS for end in (".bin", ".npy")],
    *[f"{name}-numbers.npy" for name in _NUMBERS],
]


@dataclass(frozen=True)
class Texts:
    """Texts behind each other, and where each begins; in memory, or in a file that is mapped."""

    content: bytes | mmap.mmap
    starts: Array
    file: BinaryIO | None = None

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, number: int) -> bytes:
        return self.content[self.starts[number] : self.starts[number + 1]]

    @property
    def is_large(self) -> bool:
        """Whether the file should not be mapped whole: its pages count as memory for as long as they are held."""
        return self.file is not None and len(self.content) > _LARGE

    def many(self, numbers: Array) -> list[bytes]:
        """Some of them, in any order."""
        if self.is_large:
            return self._many_of_large(numbers)
        content = self.content
        begins, ends = self.starts[numbers].tolist(), self.starts[numbers + 1].tolist()
        return [content[begin:end] for begin, end in zip(begins, ends, strict=True)]

    def _many_of_large(self, numbers: Array) -> list[bytes]:
        """The same by reading, from one end of the file to the other; what lies near each other is read together."""
        if not len(numbers):
            return []
        assert self.file is not None
        order = np.argsort(numbers, kind="stable")
        begins, ends = self.starts[numbers[order]].astype(np.int64), self.starts[numbers[order] + 1].astype(np.int64)
        is_far = (begins[1:] > ends[:-1] + _GAP) | (begins[1:] // _PIECE != begins[:-1] // _PIECE)
        firsts = np.concatenate([[0], np.flatnonzero(is_far) + 1])
        counts = np.diff(np.append(firsts, len(numbers)))
        bases = begins[firsts]
        sizes = ends[firsts + counts - 1] - bases
        begins, ends = begins - np.repeat(bases, counts), ends - np.repeat(bases, counts)
        slices = zip(begins.tolist(), ends.tolist(), strict=True)
        found: list[bytes] = []
        for base, size, count in zip(bases.tolist(), sizes.tolist(), counts.tolist(), strict=True):
            piece = os.pread(self.file.fileno(), size, base)
            found += [piece[begin:end] for begin, end in islice(slices, count)]
        places = np.empty(len(numbers), np.int64)
        places[order] = np.arange(len(numbers))
        return [found[place] for place in places.tolist()]


@dataclass(frozen=True)
class Corpus:
    """Examples by number. References are numbered example after example, gold ones before pseudo-references.

    `fingerprint` names the content. `broken` is the line of the first example with a line break in a text, `tabbed`
    that of the first with a tab: some formats cannot hold them. 0 if there is none.
    """

    texts: dict[str, Texts]
    numbers: dict[str, Array]
    fingerprint: str
    broken: int = 0
    tabbed: int = 0
    folder: Path | None = None  # where it is mapped from

    def __len__(self) -> int:
        return len(self.numbers["gold"])

    def __reduce__(self) -> tuple[object, ...]:
        # Another process maps the folder for itself.
        if self.folder is not None:
            return open_corpus, (self.folder, self.fingerprint)
        return Corpus, (self.texts, self.numbers, self.fingerprint, self.broken, self.tabbed)

    @staticmethod
    def of(examples: Iterable[Example]) -> Corpus:
        """The corpus of some examples, in memory."""
        filling = _Filling(streams := {name: io.BytesIO() for name in _TEXTS})
        for example in examples:
            filling.add(example)
        texts = {name: Texts(streams[name].getvalue(), starts) for name, starts in filling.starts().items()}
        return Corpus(texts, filling.numbers(), **filling.about())

    @cached_property
    def starts(self) -> Array:
        """The number of each example's first reference, and behind them the number of all."""
        return np.concatenate([[0], np.cumsum(self.numbers["gold"].astype(np.int64) + self.numbers["pseudo"])])

    @property
    def has_lattices(self) -> bool:
        """Whether every example has kept its lattice."""
        starts = self.texts["lattices"].starts
        return bool(np.all(starts[1:] > starts[:-1]))

    @property
    def weights(self) -> Array | None:
        """The weight of each reference; None if all are 1."""
        return self.numbers["weights"] if len(self.numbers["weights"]) else None

    def id(self, example: int) -> str:
        return self.texts["ids"][example].decode()

    def source(self, example: int) -> Any:
        """The source: any JSON value."""
        text = self.texts["sources"][example].decode()
        return text if self.numbers["is_text"][example] else json.loads(text)

    def reference(self, example: int, reference: int) -> str:
        return self.texts["references"][int(self.starts[example]) + reference].decode()

    def example(self, number: int) -> Example:
        """An example with its gold references and its kept lattice: what new references are drawn from."""
        first = int(self.starts[number])
        texts = [text.decode() for text in self.texts["references"].many(np.arange(first, self.starts[number + 1]))]
        gold = int(self.numbers["gold"][number])
        weights = [1.0] * gold if self.weights is None else self.weights[first : first + gold].tolist()
        kept = self.texts["lattices"][number]
        bleus = self.numbers["bleus"][first : first + len(texts)].tolist() if len(self.numbers["bleus"]) else []
        return Example(
            self.id(number),
            self.source(number),
            tuple(map(Reference, texts[:gold], weights)),
            tuple(map(PseudoReference, texts[gold:], [round(bleu, 2) for bleu in bleus[gold:]])),
            lattice_of(json.loads(kept), gold) if kept else None,
        )

    @property
    def is_large(self) -> bool:
        """Whether many texts should be asked for at a time."""
        return any(texts.is_large for texts in self.texts.values())


class _Filling:
    """A corpus in the making. Whatever weighs all the same, or is nowhere there, takes no room."""

    def __init__(self, streams: dict[str, Any]):
        self._streams: dict[str, BinaryIO] = streams
        self._starts = {name: array("Q", [0]) for name in streams}
        self._numbers: dict[str, array[Any]] = {name: array(kind) for name, kind in _NUMBERS.items()}
        self._hash = hashlib.blake2b(digest_size=16)
        self._is_weighted = self._has_pseudo = False
        self.broken = self.tabbed = 0

    def add(self, example: Example) -> None:
        texts = [reference.text for reference in example.references]
        texts += [pseudo.text for pseudo in example.pseudo_references]
        is_text = isinstance(example.source, str)
        source = example.source if is_text else json.dumps(example.source, ensure_ascii=False)
        try:
            encoded = [text.encode() for text in texts]
            self._write("ids", example.id.encode())
            self._write("sources", source.encode())
        except UnicodeEncodeError:
            problem = f'the example "{example.id}" holds half a surrogate pair'
            raise InputError(problem, "repair its texts", line=example.line) from None
        for text in encoded:
            self._write("references", text)
        if has_breaks(source) or any(map(has_breaks, texts)):
            everything, line = "".join([source, *texts]), example.line or len(self._numbers["gold"]) + 1
            self.tabbed = self.tabbed or (line if "\t" in everything else 0)
            self.broken = self.broken or (line if "\n" in everything or "\r" in everything else 0)
        self._count(example, texts, source, is_text)

    def _count(self, example: Example, texts: Sequence[str], source: str, is_text: bool) -> None:
        numbers, gold, lattice = self._numbers, len(example.references), example.lattice
        kept, new = b"", 0
        if lattice is not None and lattice.kept is not None:
            kept = json.dumps(json.loads(lattice_json(lattice, gold))).encode()
            distinct = len({reference.text.casefold() for reference in example.references})
            new = min(max(lattice.sentences - distinct, 0), 2**32 - 1)
        self._write("lattices", kept)
        numbers["new"].append(new)
        numbers["gold"].append(gold)
        numbers["pseudo"].append(len(texts) - gold)
        numbers["is_text"].append(is_text)
        numbers["source_words"].append(len(source.split()))
        numbers["reference_words"].extend([len(text.split()) for text in texts])
        weights = [reference.weight for reference in example.references]
        numbers["weights"].extend(weights + [1.0] * (len(texts) - gold))
        numbers["bleus"].extend([-1.0] * gold + [pseudo.bleu for pseudo in example.pseudo_references])
        numbers["crossings"].extend([-1] * gold + list(map(_crossings, example.pseudo_references)))
        self._is_weighted |= any(weight != 1.0 for weight in weights)
        self._has_pseudo |= len(texts) > gold
        self._hash.update(json.dumps([gold, is_text, weights]).encode())

    def _write(self, name: str, content: bytes) -> None:
        self._streams[name].write(content)
        self._starts[name].append(self._starts[name][-1] + len(content))
        self._hash.update(len(content).to_bytes(8, "little") + content)

    def starts(self) -> dict[str, Array]:
        return {name: _array(values) for name, values in self._starts.items()}

    def numbers(self) -> dict[str, Array]:
        left_out = {"weights": not self._is_weighted, "bleus": not self._has_pseudo, "crossings": not self._has_pseudo}
        return {name: _array(values[:0] if left_out.get(name) else values) for name, values in self._numbers.items()}

    def about(self) -> dict[str, Any]:
        return {"fingerprint": self._hash.hexdigest(), "broken": self.broken, "tabbed": self.tabbed}


def _crossings(pseudo: PseudoReference) -> int:
    """What is said again without being counted is a gold reference, which crosses nothing."""
    return pseudo.crossings if pseudo.crossings is not None else 0 if pseudo.repeat else -1


def _array(values: array[Any]) -> Array:
    return np.frombuffer(values, values.typecode) if len(values) else np.zeros(0, values.typecode)


# -- in a folder ----------------------------------------------------------------------------------------------------


def save_corpus(
    examples: Iterable[Example],
    folder: Path,
    about: dict[str, Any],
    *,
    on_progress: OnProgress = lambda examples: None,
) -> None:
    """Write the corpus of some examples into a folder, and last of all what it is about."""
    with ExitStack() as stack:
        filling = _Filling({name: stack.enter_context((folder / f"{name}.bin").open("wb")) for name in _TEXTS})
        for number, example in enumerate(examples, 1):
            filling.add(example)
            if number % 1000 == 0:
                on_progress(number)
    arrays = {**filling.starts(), **{f"{name}-numbers": values for name, values in filling.numbers().items()}}
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values, allow_pickle=False)
    paths = sorted(folder.iterdir())
    files = {path.name: path.stat().st_size for path in paths}
    checksums = {path.name: _checksum(path) for path in paths}
    write_about(folder, {"version": VERSION, "files": files, "checksums": checksums, **filling.about(), **about})


def write_about(folder: Path, about: dict[str, Any]) -> None:
    """Say what the corpus in a folder is about."""
    about = {**about, "checksum": _own_checksum(about)}
    with whole_files([folder / ABOUT]) as [stream]:  # several ranks of a run may write it at once
        stream.write((json.dumps(about, indent=1) + "\n").encode())


def _own_checksum(about: dict[str, Any]) -> int:
    return crc32(json.dumps({**about, "checksum": None}, sort_keys=True).encode())


def _checksum(path: Path) -> int:
    """Read, not mapped: the pages of a large file would count as memory."""
    value = 0
    with path.open("rb", buffering=0) as file:
        while piece := file.read(_PIECE):
            value = crc32(piece, value)
    return value


def _is_sound(folder: Path, about: dict[str, Any]) -> bool:
    """Whether every file of an index is what it was when it was written."""
    try:
        return all(_checksum(folder / name) == about["checksums"][name] for name in about["files"])
    except (OSError, KeyError):
        return False


def about_corpus(folder: Path) -> dict[str, Any] | None:
    """What the corpus in a folder is about; None if there is none that is whole and of this version."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        whole = all((folder / name).stat().st_size == size for name, size in about["files"].items())
        whole &= set(_FILES) <= set(about["files"])
        kinds = {"fingerprint": str, "broken": int, "tabbed": int}
        whole &= about["version"] == VERSION and about["checksum"] == _own_checksum(about)
        whole &= all(isinstance(about[key], kind) for key, kind in kinds.items())
        return about if whole else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def open_corpus(folder: Path, fingerprint: str | None = None) -> Corpus:
    """Map the corpus in a folder; a fingerprint refuses another one."""
    for _ in range(_TRIES):
        about, place = about_corpus(folder), _place_of(folder)
        if about is None:
            sleep(_PAUSE)  # another run may be putting a new one in its place
            continue
        if fingerprint not in (None, about["fingerprint"]):
            break
        with suppress(FileNotFoundError):
            texts = {name: _mapped(folder / f"{name}.bin", _loaded(folder / f"{name}.npy")) for name in _TEXTS}
            numbers = {name: _loaded(folder / f"{name}-numbers.npy") for name in _NUMBERS}
            if _place_of(folder) == place:  # else some of its files may be of another one
                return Corpus(texts, numbers, about["fingerprint"], about["broken"], about["tabbed"], folder)
    raise InputError("the index has changed or gone", "start again", file=str(folder))


def _place_of(folder: Path) -> int | None:
    """What tells a folder from another one of the same name."""
    with suppress(OSError):
        return folder.stat().st_ino
    return None


def _mapped(path: Path, starts: Array) -> Texts:
    if not path.stat().st_size:
        return Texts(b"", starts)  # nothing can be mapped
    file = path.open("rb")
    texts = Texts(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), starts, file)
    weakref.finalize(texts, file.close)  # it is open for as long as someone has the corpus
    return texts


def _loaded(path: Path) -> Array:
    values: Array = np.load(path, mmap_mode="r" if path.stat().st_size > 1 << 16 else None)
    return values


# -- the index of a file --------------------------------------------------------------------------------------------


def default_folder() -> Path:
    """Where indexes are kept unless told otherwise: in the user's cache folder. It may be deleted at any time."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "polyref", "indexes")


@contextmanager
def indexed(
    input: Input,
    *,
    folder: Path | None = None,
    on_progress: OnProgress = lambda examples: None,
) -> Iterator[Corpus]:
    """The corpus of a file, while it is needed. Standard input and pipes are indexed for this one time."""
    if input.can_be_read_again:
        yield open_index(input, folder=folder, on_progress=on_progress)
        return
    with passing_folder() as passing:
        with writing(passing.parent, "set TMPDIR to a folder with more room"):
            _save(input, passing, [], on_progress)
        yield open_corpus(passing)


def open_index(
    input: Input,
    *,
    folder: Path | None = None,
    on_progress: OnProgress = lambda examples: None,
) -> Corpus:
    """The corpus of a file, from its index, which is made where there is none, or one of another content."""
    files = [path_at(path if is_remote(path) else os.path.realpath(path)) for path in input.files]
    for path, name in zip(files, input.files, strict=True):
        if not path.is_file():
            raise InputError("there is no such file", "check the path", file=name)
    place = (folder or default_folder()) / _name(files, input.settings)
    _sweep(place)
    about = about_corpus(place)
    if about is not None and _has_stamps(about, files):
        stamps = _stamps_today(about["source"], files)
        if stamps is not None and _is_sound(place, about):
            if stamps != about["source"]:
                with suppress(OSError):  # the next run reads the file once more, and no harm is done
                    write_about(place, {**about, "source": stamps})
            _log.info("%s: index in %s reused", input.name, place)
            return open_corpus(place)
    stamps = [_stamp(path) for path in files]
    with writing(place.parent, "name another folder of indexes"), _new_folder(place, stamps) as fresh:
        _save(input, fresh, stamps, on_progress)
        pairs = zip(files, stamps, strict=True)
        if any(_differs(path, stamp) and _stamp(path)["hash"] != stamp["hash"] for path, stamp in pairs):
            raise changed(input.name)
    _log.info("%s: index made in %s", input.name, place)
    return open_corpus(place)


def _save(input: Input, folder: Path, stamps: list[Stamp], on_progress: OnProgress) -> None:
    with located(input.name):
        save_corpus(input.examples(), folder, {"source": stamps}, on_progress=on_progress)


def _name(files: list[Place], settings: ReadSettings) -> str:
    """One folder for each way to read each file."""
    fields = settings.fields
    parts = [*map(str, files), str(settings.format), fields.id, fields.source, fields.references]
    digest = hashlib.blake2b("\0".join(parts).encode(errors="surrogateescape"), digest_size=8).hexdigest()
    return f"{files[0].name[:40]}-{digest}"


def _stamp(path: Place) -> Stamp:
    """What the system knows of a file, and a hash of what it holds."""
    with reading(path, "cannot be read", "check the file"), path.open("rb") as file:
        known = _known(path)
        # What was written a moment ago can be written again without a change of its dates.
        is_settled = time_ns() - max(known["changed"], known["touched"]) > _SETTLED
        content = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    return {"file": path.name, **known, "settled": is_settled, "hash": content}


def _known(path: Place) -> Stamp:
    """Anyone can set the date of a file's content; the date of its last change of any kind is the system's own."""
    found = path.stat()
    dates = {"changed": found.st_mtime_ns, "touched": found.st_ctime_ns}
    return {"size": found.st_size, **dates, "inode": found.st_ino}


def _differs(path: Place, stamp: Stamp) -> bool:
    """Whether a file may hold something else; its hash tells."""
    return stamp.get("settled") is not True or any(stamp.get(key) != value for key, value in _known(path).items())


def _has_stamps(about: dict[str, Any], files: Sequence[object]) -> bool:
    """Whether an index says of each file what it was made from."""
    stamps = about.get("source")
    return isinstance(stamps, list) and len(stamps) == len(files) and all(isinstance(one, dict) for one in stamps)


def _stamps_today(stamps: list[Stamp], files: list[Place]) -> list[Stamp] | None:
    """The stamps of today; None if a file holds something else. Most need not be read for that."""
    today = [_stamp(path) if _differs(path, stamp) else stamp for path, stamp in zip(files, stamps, strict=True)]
    # A copy with another date is the same file.
    is_same = all(new["hash"] == old.get("hash") for new, old in zip(today, stamps, strict=True) if new is not old)
    return today if is_same else None


@contextmanager
def _new_folder(place: Path, stamps: list[Stamp]) -> Iterator[Path]:
    """A folder that takes its name when it is complete, in the place of an older one.

    Many ranks of a run may begin at once, and all make the same index: that of the first stays, so that no one finds it
    gone while it is opened.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    fresh = place.with_name(f".{place.name}.{os.getpid()}.{_HOST}.{secrets.token_hex(8)}")
    older = fresh.with_name(fresh.name + ".old")
    try:
        fresh.mkdir(mode=0o700)
        yield fresh
        try:
            if not _is_index_of(place, stamps):
                with suppress(FileNotFoundError):
                    place.rename(older)
                fresh.rename(place)
        except OSError:
            if about_corpus(place) is None:  # else another run has made it at the same time
                raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(older, ignore_errors=True)


def _is_index_of(place: Path, stamps: list[Stamp]) -> bool:
    """Whether another run has made an index of the same files in the meantime."""
    about = about_corpus(place)
    if about is None or not _has_stamps(about, stamps) or not _is_sound(place, about):
        return False
    return all(old.get("hash") == new["hash"] for old, new in zip(about["source"], stamps, strict=True))


def _sweep(place: Path) -> None:
    """Remove what runs of this machine that were killed have left; others may share the folder, and be at work."""
    if not Path("/proc/self").exists():
        return
    for left in place.parent.glob(f".{glob.escape(place.name)}.*"):
        process, _, host = left.name.removeprefix(f".{place.name}.").partition(".")
        if process.isdecimal() and host.startswith(f"{_HOST}.") and not Path(f"/proc/{process}").exists():
            shutil.rmtree(left, ignore_errors=True)
