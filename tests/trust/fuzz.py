"""Try damaged and malicious input on the command, for as long as it is told to.

    python tests/trust/fuzz.py --minutes 30 [--seed 1] [--only readers,recipes]

In:   valid files that it makes itself, and a seed.
Out:  a line per finding, with the folder that reproduces it; at the end the number of executions. Exit code 1 if there
      were findings.
Not:  a test that runs every time: what it has found is one, in the folder of its room.

Most executions are the real command in a forked process: it must end with exit code 0 or 2, print no traceback, and
keep what the target promises (an index or a cache never changes the output; a drawing never leaves its folder). Texts,
lattices and searches are tried inside this process, thousands of times a minute: a text is cut into words that give it
back, and both engines come to the same lattice and the same sentences.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import os
import pkgutil
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

import polyref
from polyref import AlignSettings, ExpandSettings, InputError, Lattice, SearchSettings, TextSettings, WordVectors
from polyref.cli.main import main as command
from polyref.compiled import kernel
from polyref.judge import JudgeSettings
from polyref.lattice import CompiledEngine, PlainEngine
from polyref.text.tokens import join, tokenize

Run = Callable[..., tuple[int, bytes, bytes]]
MEMORY = 4 * 2**30
SECONDS = 60
# fmt: off
TOKENS = (
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\n", b"\n\n", b"\t", b'"', b"\\", b"\\u0000", b"\\ud800",
    b"\\udc80", b"{", b"}", b"[", b"]", b"[[[[[[[[", b"{}", b"[]", b"null", b"true", b"NaN", b"1e999", b"-0",
    b"9" * 400, b",", b"references", b"source", b"id", b"pseudo_references", b"lattice", b"\x1b[2J",
    "\u202e\u0301".encode(), b"''", b"=", b"../", b"/", b" ", "　\u200b".encode(), b"#", b"inf", b"0x10", b"PAR1",
    b"\x1f\x8b", b"\x28\xb5\x2f\xfd",
)
# fmt: on
# fmt: off
NASTY_IDS = (
    "", ".", "..", "...", "/", "//", "../..", "a/b", "a_b", "a?b", "a b", " a", "a ", "a.", "-", "-o", "~", "con",
    "NUL", "\x1b[31m", "a\nb", "a\tb", "é", "e\u0301", "É", "\u202e", "🐈", "🐈" * 100, "x" * 300, "%2e%2e", "a\\b",
    "{id}", "$HOME", ".hidden", "A", "a", "a_", "a__", "*", "|", "\u2028", "\ufeff", "id.svg", "\x7f", "..\x00..",
)
# fmt: on


# -- damage ---------------------------------------------------------------------------------------------------------


def damaged(content: bytes, draw: random.Random) -> bytes:
    """The content with a few changes: bytes flipped, cut out, doubled, moved, or replaced by what often hurts."""
    for _ in range(draw.choice((1, 1, 1, 2, 3, 8))):
        at = draw.randrange(len(content) + 1)
        length = draw.choice((1, 1, 2, 8, 64, 1000))
        kind = draw.randrange(7)
        if kind == 0 and content:
            at = min(at, len(content) - 1)
            content = content[:at] + bytes([content[at] ^ (1 << draw.randrange(8))]) + content[at + 1 :]
        elif kind == 1:
            content = content[:at]
        elif kind == 2:
            content = content[:at] + content[at + length :]
        elif kind == 3:
            content = content[:at] + content[at : at + length] * draw.choice((2, 3, 50)) + content[at + length :]
        elif kind == 4:
            content = content[:at] + draw.choice(TOKENS) + content[at:]
        elif kind == 5:
            content = content[:at] + draw.choice(TOKENS) + content[at + length :]
        else:
            content = content[:at] + draw.randbytes(length) + content[at + length :]
    return content


def some_file(folder: Path, draw: random.Random) -> Path:
    return draw.choice(sorted(path for path in folder.rglob("*") if path.is_file()))


# -- valid files ----------------------------------------------------------------------------------------------------


WORDS = ("a", "the", "grey", "cat", "sleeps", "is", "asleep", "on", "mat,", ".", "two", "3", "not", "red", "café", "猫")


def records(draw: random.Random, count: int = 6) -> list[dict[str, object]]:
    made: list[dict[str, object]] = []
    for number in range(count):
        references: list[object] = [
            " ".join(draw.choices(WORDS, k=draw.randint(1, 9))) for _ in range(draw.randint(1, 4))
        ]
        if draw.random() < 0.2:
            references.append({"text": "the cat is asleep", "weight": 2.0})
        source = draw.choice((f"source {number}", {"deep": [number, None]}, ["x"]))
        made.append({"id": f"id-{number}", "source": source, "references": references, "note": {"kept": [1.0, "é"]}})
    return made


def write_records(path: Path, made: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in made), encoding="utf-8")
    return path


RECIPE = """
[run]
output = "run"
seed = 3
[data]
train = "data.jsonl"
dev = "data.jsonl"
[subwords]
target = 60
joint = true
[expand]
per_example = 8
align = "soft"
penalty = "adaptive"
[model]
kind = "translator"
embedding_size = 16
state_size = 16
[fit]
epochs = 2
learning_rate = 5e-3
[batch]
pairs = 8
[[stage]]
name = "one"
schedule.name = "uniform"
[validation]
metrics = ["perplexity", "bleu"]
"""


# -- targets --------------------------------------------------------------------------------------------------------


class Target:
    """What is tried: `prepare` makes valid files once, `trial` damages a copy of them and runs the command."""

    def __init__(self, folder: Path, run: Run, draw: random.Random):
        self.good, self.run, self.draw = folder / "good", run, draw
        self.good.mkdir(parents=True)
        self.prepare()

    def prepare(self) -> None:
        write_records(self.good / "data.jsonl", records(self.draw))

    def trial(self, folder: Path) -> str | None:
        """What is wrong, in a line; None if nothing is."""
        raise NotImplementedError

    def must(self, *arguments: str, cwd: Path | None = None) -> bytes:
        code, out, said = self.run(*arguments, cwd=cwd or self.good)
        assert code == 0, (arguments, code, said)
        return out

    def judged(self, *arguments: str, cwd: Path) -> str | None:
        code, _, said = self.run(*arguments, cwd=cwd)
        if b"Traceback" in said or b"Aborted" in said:
            return f"{arguments}: {said.decode(errors='replace').strip().splitlines()[-1]}"
        if code not in (0, 2):
            return f"{arguments}: exit code {code}, {said[-200:]!r}"
        if code == 2 and not (said.startswith(b"polyref: ") or b"Usage: " in said):
            return f"{arguments}: exit code 2 without a line that says why: {said[-200:]!r}"
        left = [path.name for path in cwd.rglob("*") if path.name.endswith((".part", ".partial"))]
        return f"{arguments}: left behind {left}" if left else None


class Readers(Target):
    NAMES = ("data.jsonl", "data.jsonl.gz", "data.jsonl.zst", "data.parquet", "coco.json", "data.csv", "data.tsv")

    def prepare(self) -> None:
        plain = [one | {"source": str(one["source"])} for one in records(self.draw)]
        write_records(self.good / "data.jsonl", plain)
        for name in (*self.NAMES[1:], "text.src", "wide.csv", "karpathy.json"):
            more = ["--reference-columns"] * (name == "wide.csv") + ["--to", "karpathy"] * (name == "karpathy.json")
            self.must("convert", "data.jsonl", name, *more)

    def trial(self, folder: Path) -> str | None:
        path = some_file(folder, self.draw)
        content = path.read_bytes()
        if path.suffix == ".gz" and self.draw.random() < 0.5:
            path.write_bytes(gzip.compress(damaged(gzip.decompress(content), self.draw)))
        else:
            path.write_bytes(damaged(content, self.draw))
        name = "text.src" if path.name.startswith("text.") else path.name
        verb = self.draw.choice(
            (
                ("expand", name, "-o", "out.jsonl", "--engine", "plain"),
                (
                    "convert",
                    name,
                    self.draw.choice(("o.jsonl", "o.csv", "o.parquet", "o.src", "o.json", "o.tsv.gz")),
                ),
                ("stream", name, "--index", "index"),
                ("stats", name),
                ("lattice", name, "--json", "--engine", "plain"),
            )
        )
        return self.judged(*verb, cwd=folder)


class Hypotheses(Target):
    def prepare(self) -> None:
        made = records(self.draw)
        write_records(self.good / "data.jsonl", made)
        write_records(self.good / "said.jsonl", [{"id": one["id"], "hypothesis": "a cat sleeps"} for one in made])
        (self.good / "said.txt").write_text("a cat sleeps\n" * len(made))

    def trial(self, folder: Path) -> str | None:
        path = some_file(folder, self.draw)
        path.write_bytes(damaged(path.read_bytes(), self.draw))
        return self.judged("score", self.draw.choice(("said.jsonl", "said.txt")), "data.jsonl", cwd=folder)


class Recipes(Target):
    def prepare(self) -> None:
        super().prepare()
        (self.good / "recipe.toml").write_text(RECIPE)

    def trial(self, folder: Path) -> str | None:
        recipe = folder / "recipe.toml"
        more: list[str] = []
        if self.draw.random() < 0.7:
            recipe.write_bytes(damaged(recipe.read_bytes(), self.draw))
        else:
            line = self.draw.choice([one for one in RECIPE.splitlines() if "=" in one])
            value = self.draw.choice(
                ("-1", "0", "1e999", "nan", '""', "[]", "{}", "x", "'", "1" * 500, "true", "\udc80")
            )
            table = self.draw.choice(("run.", "expand.", "fit.", "model.", "batch.", "", "stage."))
            more = ["--set", f"{table}{line.partition('=')[0].strip()}={value}"]
        return self.judged("train", "recipe.toml", "--check", *more, cwd=folder)


class Ids(Target):
    """Ids as names of files: nothing leaves the folder, and no two examples share a file."""

    def trial(self, folder: Path) -> str | None:
        ids = {self.draw.choice(NASTY_IDS) if self.draw.random() < 0.7 else self._made_up() for _ in range(4)}
        made = [{"id": id, "source": "s", "references": ["a cat", "the cat"]} for id in ids]
        write_records(folder / "data.jsonl", made)
        inner = folder / "inner"
        inner.mkdir()
        before = {path for path in folder.rglob("*") if inner not in path.parents}
        output = self.draw.choice(
            ("{id}.svg", "{id}/lattice.svg", "x-{id}.json", "{id}{id}.svg", "a/{id}/b.svg", "{id}")
        )
        verb = self.draw.choice(("lattice", "align"))
        code, _, said = self.run(verb, "../data.jsonl", "-o", output, "--engine", "plain", cwd=inner)
        if code not in (0, 2) or b"Traceback" in said:
            return f"{sorted(ids)} {output}: exit code {code}, {said[-300:]!r}"
        if b"\x1b" in said:
            return f"{sorted(ids)} {output}: a control sequence reached the terminal"
        if {path for path in folder.rglob("*") if inner not in path.parents} != before:
            return f"{sorted(ids)} {output}: wrote outside its folder"
        written = [path for path in inner.rglob("*") if path.is_file()]
        if code == 0 and len(written) != len(ids):
            return f"{sorted(ids)} {output}: {len(ids)} examples, {len(written)} files"
        return None

    def _made_up(self) -> str:
        return "".join(
            chr(self.draw.choice((46, 47, 95, 63, 92, 97, 65, 0x301, 0x1F408))) for _ in range(self.draw.randint(0, 4))
        )


class Unchanged(Target):
    """What is kept beside the data must never change the output: it is the same, or refused, or made anew."""

    KEPT = ""
    COMMAND: tuple[str, ...] = ()

    def prepare(self) -> None:
        super().prepare()
        # Indexes know their data by its path: they are made where every trial takes place.
        place = self.good.rename(self.good.with_name("trial"))
        self.expected = self.must(*self.COMMAND, cwd=place)
        assert self.must(*self.COMMAND, cwd=place) == self.expected
        place.rename(self.good)

    def trial(self, folder: Path) -> str | None:
        path = some_file(folder / self.KEPT, self.draw)
        path.write_bytes(damaged(path.read_bytes(), self.draw))
        code, out, said = self.run(*self.COMMAND, cwd=folder)
        if code not in (0, 2) or b"Traceback" in said:
            return f"{path.name}: exit code {code}, {said[-300:]!r}"
        return f"{path.name}: other output, exit code 0" if code == 0 and out != self.expected else None


class Indexes(Unchanged):
    KEPT = "index"
    COMMAND = ("stream", "data.jsonl", "--schedule", "shuffle", "--index", "index")


class Vectors(Unchanged):
    KEPT = "cache"
    COMMAND = ("expand", "data.jsonl", "--align", "soft", "--encoder", "vectors:table.txt", "--cache", "cache")

    def prepare(self) -> None:
        rows = [f"{word} {' '.join(str(self.draw.gauss(0, 1)) for _ in range(8))}" for word in WORDS]
        (self.good / "table.txt").write_text("\n".join(rows) + "\n")
        super().prepare()


class Kernels(Target):
    """A damaged kernel is compiled again, never run."""

    def prepare(self) -> None:
        assert forked(cwd=self.good, call=_use_kernel)[:2] == (0, b"42")

    def trial(self, folder: Path) -> str | None:
        path = some_file(folder, self.draw)
        path.write_bytes(damaged(path.read_bytes(), self.draw))
        code, out, said = forked(cwd=folder, call=_use_kernel)
        return None if (code, out) == (0, b"42") else f"{path.name}: exit code {code}, {out!r}, {said[-300:]!r}"


def _twice(number):  # type: ignore[no-untyped-def]
    return 2 * number


def _use_kernel() -> None:
    os.environ["NUMBA_CACHE_DIR"] = str(Path.cwd())
    os.write(1, str(kernel("int64(int64)")(_twice)(21)).encode())


class Options(Target):
    """Values of options that nobody would give."""

    # fmt: off
    NAMES = ("per-example", "penalty", "seed", "min-bleu", "node-budget", "tokenizer", "position", "baseline", "to")
    VALUES = (
        "", " ", "-1", "0", "nan", "inf", "1e-320", "9" * 30, "1" * 5000, "\x1b[1m", "é", "none", "soft", "0x1", "1_0",
    )
    # fmt: on

    def trial(self, folder: Path) -> str | None:
        chosen = [
            f"--{self.draw.choice(self.NAMES)}={self.draw.choice(self.VALUES)}" for _ in range(self.draw.randint(1, 3))
        ]
        return self.judged("expand", "data.jsonl", "-o", "out.jsonl", "--engine", "plain", *chosen, cwd=folder)


class Inside(Target):
    """Tried in this process. What a trial is about is in `case.json`, which is kept with a finding."""

    engines: tuple[PlainEngine, CompiledEngine] | None = None

    def prepare(self) -> None:
        if Inside.engines is None:
            Inside.engines = PlainEngine(), CompiledEngine()

    def trial(self, folder: Path) -> str | None:
        case = self.case()
        try:
            found = self.wrong(case)
        except InputError:  # as for a reference of invisible characters
            return None
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
        if found is not None:
            (folder / "case.json").write_text(json.dumps(case))
        return found

    def case(self) -> dict[str, Any]:
        """What is tried, as JSON has it."""
        raise NotImplementedError

    def wrong(self, case: dict[str, Any]) -> str | None:
        raise NotImplementedError

    def text(self, longest: int) -> str:
        """Words, marks, scripts, and what hurts, with any spaces between them."""
        parts: list[str] = []
        for _ in range(self.draw.randint(1, longest)):
            kind = self.draw.randrange(8)
            if kind < 5:
                parts.append(self.draw.choice(WORDS))
            elif kind == 5:
                parts.append(self.draw.choice(NASTY_IDS))
            elif kind == 6:
                parts.append(chr(self.draw.choice((self.draw.randrange(1, 0x250), self.draw.randrange(0x10FFFF)))))
            else:
                parts.append(self.draw.choice(("'s", "...", "!?", "(", "”", "«", "n't", "3.5", "U.S.", "—", "。", "า")))
            parts.append(self.draw.choice((" ", " ", " ", "", "\u00a0", "\t", "\u3000", "  ")))
        return "".join(parts).encode("utf-8", "replace").decode()


class Texts(Inside):
    """No word is blank, nothing that is written is lost, and what is written again has the same words."""

    def case(self) -> dict[str, Any]:
        settings = {"tokenizer": self.draw.choice(("words", "whitespace", "characters"))}
        return {"text": self.text(12), "settings": settings | {"fold_case": self.draw.random() < 0.5}}

    def wrong(self, case: dict[str, Any]) -> str | None:
        settings = TextSettings(**case["settings"])
        tokens = tokenize(case["text"], settings)
        if not all(surface.strip() for surface in tokens.surfaces):
            return f"{case}: a blank word"
        if "".join(tokens.surfaces) != "".join(re.sub("[\u200b\ufeff]", " ", case["text"]).split()):
            return f"{case}: lost {tokens.surfaces}"
        again = tokenize(join(zip(tokens.surfaces, tokens.spaces, strict=True)), settings)
        return None if again.words == tokens.words else f"{case}: {tokens.words} became {again.words}"


class Lattices(Inside):
    """Both engines build the same lattice, and every reference is in it."""

    def case(self) -> dict[str, Any]:
        few, longest = self.draw.choice(((3, 9), (3, 40), (16, 12), (16, 60)))
        words = [chr(ord("a") + number) for number in range(few)]
        lengths = [self.draw.randint(1, longest) for _ in range(self.draw.randint(1, 7))]
        references = [" ".join(self.draw.choices(words, k=length)) for length in lengths]
        if self.draw.random() < 0.3:
            references = [self.text(8) for _ in range(4)]
        if self.draw.random() < 0.3:  # the same blocks in another order
            blocks = [references[0].split()[at : at + 3] for at in range(0, len(references[0].split()), 3)]
            references += [" ".join(chain(*self.draw.sample(blocks, len(blocks)))) for _ in range(2)]
        references = [one for one in references if one.split()] or ["a"]
        order = self.draw.choice(("tree", "paper"))
        return {"references": references, "merge_order": order, "vectors": self.draw.choice((None, None, 0, 1, 2))}

    def wrong(self, case: dict[str, Any]) -> str | None:
        plain, compiled = self.lattices(case)
        same = plain.after == compiled.after and plain.count == compiled.count
        for one, other in zip(plain.automaton.arrays, compiled.automaton.arrays, strict=True):
            same = same and one.tolist() == other.tolist()
        if not same:
            return f"{case}: other lattices"
        lost = [one for one in case["references"] if plain.sentence(one) is None]
        return f"{case}: without {lost}" if lost else None

    def alignment(self, references: list[str], case: dict[str, Any]) -> tuple[WordVectors | None, AlignSettings]:
        if case["vectors"] is None:
            return None, AlignSettings(merge_order=case["merge_order"])
        words = sorted({word for one in references for word in tokenize(one, TextSettings()).words})
        made = np.random.default_rng(case["vectors"]).standard_normal((len(words), 4)).astype(np.float32)
        align = AlignSettings(align="soft", merge_order=case["merge_order"], baseline=0.0, penalty=0.3)
        return WordVectors(words, made), align

    def lattices(self, case: dict[str, Any]) -> list[Lattice]:
        encoder, align = self.alignment(case["references"], case)
        assert self.engines is not None
        given: dict[str, Any] = {"align": align, "encoder": encoder}
        return [Lattice.from_references(case["references"], engine=engine, **given) for engine in self.engines]


class Searches(Lattices):
    """Both engines find the same sentences, with any budget."""

    def case(self) -> dict[str, Any]:
        settings = {
            "seed": self.draw.randrange(4),
            "min_bleu": self.draw.choice((None, 0.0, 30.0, 99.0)),
            "node_budget": self.draw.choice((1, 5, 50, 1_000, 20_000)),
            "tie_limit": self.draw.choice((1, 5, 10_000)),
        }
        return super().case() | {"settings": settings, "wanted": self.draw.choice((1, 3, 20, 100))}

    def wrong(self, case: dict[str, Any]) -> str | None:
        settings = SearchSettings(**case["settings"])
        lattices = self.lattices(case)
        found = [lattice.search(case["wanted"], settings) for lattice in lattices]
        if found[0] != found[1]:
            return f"{case}: other sentences"
        texts = [lattice.texts(one) for lattice, one in zip(lattices, found, strict=True)]
        return f"{case}: other texts" if texts[0] != texts[1] else None


class Chunks(Searches):
    """What the kernel chooses from many examples at once is what plain Python chooses from one after the other."""

    def case(self) -> dict[str, Any]:
        cases = [super(Chunks, self).case() for _ in range(self.draw.randint(1, 12))]
        wanted = self.draw.choice((2, 8, 20, 100))
        settings = cases[0]["settings"] | {"min_bleu": None}
        return cases[0] | {
            "examples": [one["references"] for one in cases],
            "settings": settings | {"tie_limit": max(settings["tie_limit"], wanted)},
            "judge": self.draw.choice(("bleu", "content")),
            "fold_case": self.draw.random() < 0.8,
            "wanted": wanted,
        }

    def wrong(self, case: dict[str, Any]) -> str | None:
        encoder, align = self.alignment([one for of_one in case["examples"] for one in of_one], case)
        settings = ExpandSettings(
            per_example=case["wanted"],
            judging=JudgeSettings(case["judge"]),
            text=TextSettings(fold_case=case["fold_case"]),
            align=align,
            search=SearchSettings(**case["settings"]),
        )
        assert self.engines is not None
        given: dict[str, Any] = {"settings": settings, "encoder": encoder}
        plain, compiled = (list(polyref.expand(case["examples"], engine=engine, **given)) for engine in self.engines)
        return None if plain == compiled else f"{case}: other pseudo-references"


TARGETS: dict[str, type[Target]] = {
    "readers": Readers,
    "hypotheses": Hypotheses,
    "recipes": Recipes,
    "ids": Ids,
    "indexes": Indexes,
    "vectors": Vectors,
    "options": Options,
    "kernels": Kernels,
    "texts": Texts,
    "lattices": Lattices,
    "searches": Searches,
    "chunks": Chunks,
}


# -- running --------------------------------------------------------------------------------------------------------


def forked(*arguments: str, cwd: Path, call: Callable[[], None] = command) -> tuple[int, bytes, bytes]:
    """Run the command in a child of this process, which has all modules loaded: exit code, output, messages."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
        child = os.fork()
        if child == 0:
            _become(arguments, cwd, out.fileno(), said.fileno(), call)
        _, status = os.waitpid(child, 0)
        out.seek(0)
        said.seek(0)
        return os.waitstatus_to_exitcode(status), out.read(), said.read()


def load_modules() -> None:
    """Import whatever a trial may need, so that every child has it."""
    for found in pkgutil.walk_packages(polyref.__path__, "polyref."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    for name in ("pyarrow.parquet", "zstandard", "sacrebleu", "rich.progress"):
        importlib.import_module(name)


def _become(arguments: tuple[str, ...], cwd: Path, out: int, said: int, call: Callable[[], None]) -> None:
    code = 70
    try:
        os.chdir(cwd)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(said, 2)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        signal.alarm(SECONDS)  # ends a run that hangs, by a signal: its exit code says so
        sys.argv = ["polyref", *arguments]
        os.environ["XDG_CACHE_HOME"] = str(cwd)
        call()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        for channel in (sys.stdout, sys.stderr):
            try:
                channel.flush()
            except OSError:
                code = code or 71
        os._exit(code)


def trials(targets: dict[str, Target], seconds: float) -> Iterator[tuple[str, Target]]:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield from targets.items()


def main() -> int:
    parser = argparse.ArgumentParser(description="Try damaged and malicious input on the command.")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(TARGETS))
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir(), "polyref-findings"))
    given = parser.parse_args()
    load_modules()
    work = Path(tempfile.mkdtemp(prefix="polyref-fuzz-"))
    draw = random.Random(given.seed)
    targets = {name: TARGETS[name](work / name, forked, draw) for name in given.only}
    counts, findings = dict.fromkeys(targets, 0), 0
    for number, (name, target) in enumerate(trials(targets, 60 * given.minutes)):
        folder = work / name / "trial"
        shutil.copytree(target.good, folder)
        found = target.trial(folder)
        counts[name] += 1
        if found is not None:
            findings += 1
            kept = given.keep / f"{given.seed}-{number}-{name}"
            shutil.copytree(folder, kept, dirs_exist_ok=True)
            sys.stdout.write(f"{name}: {found}\n    {kept}\n")
            sys.stdout.flush()
        shutil.rmtree(folder)
    shutil.rmtree(work)
    listed = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    sys.stdout.write(f"{sum(counts.values()):,} executions ({listed}), seed {given.seed}: {findings} findings\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
