"""Kill long runs at random moments, fill their disk, kill their workers, cut the power; go on until done, and compare.

    python tests/trust/resume.py --times 50 [--seed 1] [--only killed,full,workers,power] [--input captions.jsonl]

In:   examples that it makes itself, or a file; a seed.
Out:  a line per finding, and per kind of trouble how often a run was disturbed and how it ended. Exit code 1 if there
      were findings.
Not:  signals that a run may answer (signals.py), the tests of shards that run every time (tests/scale/).

A run writes shards, with two workers. Whatever happens to it, the same command goes on, and at the end its output has
the bytes of a run that nobody disturbed, with nothing beside it and no process left.

- killed: SIGKILL to all its processes, at a random moment, up to four times.
- full: a disk with too little room, then enough. A tmpfs of its own where mount is permitted; else a limit on the size
  of a file, which is said.
- workers: SIGKILL to one worker after another while it runs. No run may end because of it.
- power: at a random moment, up to three times, all is lost that had not reached the disk. The disk is a file with an
  ext4 of its own, of which a copy is taken and mounted in its place. Left out, and said, where mount is not permitted.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LONGEST_WAIT = 600
SHARD = 128
WORDS = ("a", "the", "grey", "cat", "dog", "sleeps", "is", "asleep", "on", "mat", "near", "window", "two", "red")
# Shards as they are, or one file that is made of them.
FORMS = {"folder": ("-o", "out/"), "file": ("-o", "out/expanded.jsonl", "--shards", "out/parts")}
LEFT_OUT = "left out: no disk can be mounted"
Codes = Counter[str]


class Trials:
    """One input, and runs on it that are disturbed in one way or another."""

    def __init__(self, work: Path, source: Path, draw: random.Random):
        self.work, self.source, self.draw = work, source, draw
        self.expected: dict[str, dict[str, bytes]] = {}
        self.seconds = float(LONGEST_WAIT)
        for form in FORMS:
            (work / form).mkdir()
            began = time.monotonic()
            code, said = self.finish(self.start(work / form, form))
            self.seconds = min(self.seconds, time.monotonic() - began)  # the first one may compile kernels
            assert code == 0, said
            self.expected[form] = outputs(work / form)

    def start(self, folder: Path, form: str, limit: int | None = None) -> subprocess.Popen[bytes]:
        def limited() -> None:
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        options = ("--workers", "2", "--shard-examples", str(SHARD), *FORMS[form])
        (folder / "out").mkdir(exist_ok=True)
        return subprocess.Popen(
            [sys.executable, "-m", "polyref", "expand", str(self.source), *options],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=limited,
        )

    def finish(self, process: subprocess.Popen[bytes]) -> tuple[int, str]:
        _, said = process.communicate(timeout=LONGEST_WAIT)
        return process.returncode, said.decode(errors="replace")

    def kill(self, folder: Path, form: str) -> tuple[int, str]:
        """Start the run, and kill all its processes at a random moment, unless it is done by then."""
        process = self.start(folder, form)
        with suppress(subprocess.TimeoutExpired):
            process.wait(self.draw.uniform(0, self.seconds))
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        return self.finish(process)

    def end(self, folder: Path, form: str) -> tuple[int, list[str]]:
        """Let the run go on to its end: its exit code, and what is wrong with what it leaves."""
        process = self.start(folder, form)
        code, said = self.finish(process)
        return code, [*self.faults(code, said, folder, form), *left_running(process.pid)]

    def faults(self, code: int, said: str, folder: Path, form: str) -> list[str]:
        if code != 0 or "Traceback" in said:
            return [f"exit code {code}: {said[-300:]!r}"]
        found = outputs(folder)
        if found == self.expected[form]:
            return []
        other = sorted(
            name for name in {*found, *self.expected[form]} if found.get(name) != self.expected[form].get(name)
        )
        return [f"other output: {other}"]

    # -- what is done to a run --------------------------------------------------------------------------------------

    def killed(self, folder: Path, form: str, codes: Codes) -> list[str]:
        wrong: list[str] = []
        for _ in range(self.draw.randint(1, 4)):
            code, said = self.kill(folder, form)
            codes["killed" if code == -signal.SIGKILL else f"done, {code}"] += 1
            if code not in (0, -signal.SIGKILL):
                wrong.append(f"exit code {code}: {said[-300:]!r}")
        return wrong + self.end(folder, form)[1]

    def full(self, folder: Path, form: str, codes: Codes) -> list[str]:
        wrong: list[str] = []
        whole = sum(map(len, self.expected[form].values()))
        with small_disk(folder / "out") as resized:
            for _ in range(2):
                room = self.draw.randrange(4096, 2 * whole if form == "file" else whole)
                limit = None if resized(room) else room // 4
                code, said = self.finish(self.start(folder, form, limit))
                codes[f"full, {code}" if limit is None else f"limited, {code}"] += 1
                if code not in (0, 2) or "Traceback" in said or len(said.splitlines()) > 2:
                    wrong.append(f"room {room:,}: exit code {code}: {said[-300:]!r}")
            resized(1 << 30)
            return wrong + self.end(folder, form)[1]

    def power(self, folder: Path, form: str, codes: Codes) -> list[str]:
        wrong: list[str] = []
        with losing_disk(folder / "out", self.work / f"{folder.name}.disk") as cut:
            if cut is None:
                codes[LEFT_OUT] += 1
                return []
            for _ in range(self.draw.randint(1, 3)):
                code, said = self.kill(folder, form)
                codes["cut" if code == -signal.SIGKILL else f"done, {code}"] += 1
                before = noted_shards(folder)
                cut()
                # The last one may have been noted without being synced yet.
                if lost := set(before[:-1]) - set(noted_shards(folder)):
                    wrong.append(f"lost, though they were noted: {sorted(lost)}")
                if code != -signal.SIGKILL:
                    # That parts were removed need not have reached the disk.
                    shutil.rmtree(folder / "out/parts", ignore_errors=True)
                    wrong += self.faults(code, said, folder, form)
            codes["shards kept"] += len(noted_shards(folder))
            return wrong + self.end(folder, form)[1]

    def workers(self, folder: Path, form: str, codes: Codes) -> list[str]:
        process = self.start(folder, form)
        while process.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(self.draw.uniform(0, 0.6 * self.seconds))
            if victims := workers_of(process.pid):
                with suppress(ProcessLookupError):
                    os.kill(self.draw.choice(victims), signal.SIGKILL)
                    codes["workers killed"] += 1
        code, said = self.finish(process)
        codes[f"done, {code}"] += 1
        return [*self.faults(code, said, folder, form), *left_running(process.pid)]


@contextmanager
def small_disk(place: Path) -> Iterator[Callable[[int], bool]]:
    """A disk in this place, and what gives it so many bytes; that is False where none can be mounted."""
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    is_mounted = shutil.which("mount") is not None and subprocess.run(command, capture_output=True).returncode == 0

    def resized(size: int) -> bool:
        if is_mounted:
            # A disk that holds more than the new size is left as it is.
            subprocess.run(["mount", "-o", f"remount,size={size}", str(place)], capture_output=True)
        return is_mounted

    try:
        yield resized
    finally:
        if is_mounted:
            subprocess.run(["umount", str(place)], check=True)


@contextmanager
def losing_disk(place: Path, image: Path) -> Iterator[Callable[[], None] | None]:
    """A disk in this place, and what cuts its power: all that was not synced is lost. None where there can be none."""
    place.mkdir()
    with image.open("wb") as stream:
        stream.truncate(64 << 20)
    mount = ["mount", "-o", "loop", str(image), str(place)]
    tools = all(map(shutil.which, ("mkfs.ext4", "mount", "umount")))
    is_mounted = tools and all(
        subprocess.run(command, capture_output=True).returncode == 0 for command in (["mkfs.ext4", "-q", image], mount)
    )

    def cut() -> None:
        # What the file system has sent to its disk stands in the image; what it still holds back does not.
        subprocess.run(["cp", "--sparse=always", image, f"{image}-copy"], check=True)
        subprocess.run(["umount", "-l", place], check=True)
        Path(f"{image}-copy").replace(image)
        subprocess.run(mount, check=True)

    try:
        if is_mounted:
            (place / "lost+found").rmdir()
            subprocess.run(["sync", "-f", place], check=True)
        yield cut if is_mounted else None
    finally:
        if is_mounted:
            subprocess.run(["umount", place], check=True)


def noted_shards(folder: Path) -> list[str]:
    """What the manifest of a run notes, one line for each shard that is there."""
    lines = [line for path in folder.rglob("_manifest.jsonl") for line in path.read_text("utf-8").splitlines()]
    files = {path.stem for path in folder.rglob("[0-9]*.jsonl")}
    return [line for line in lines if f"{json.loads(line).get('shard', -1):05d}" in files]


def outputs(folder: Path) -> dict[str, bytes]:
    """All files of a run, but for what its manifest says, which holds times."""
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    return {name: b"" if path.name == "_manifest.jsonl" else path.read_bytes() for name, path in files.items()}


def workers_of(process: int) -> list[int]:
    """The workers among the children of a process: its first child looks after what they share."""
    with suppress(OSError):
        children = map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())
        return [child for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]
    return []


def left_running(session: int) -> list[str]:
    """What still runs of a session whose first process has ended; workers have a moment to notice."""
    for _ in range(100):
        found = subprocess.run(["ps", "-s", str(session), "-o", "pid=,args="], capture_output=True, text=True).stdout
        if not found.strip():
            return []
        time.sleep(0.1)
    return [f"still runs: {found.strip()}"]


def make_input(path: Path, draw: random.Random, count: int = 600) -> Path:
    with path.open("w", encoding="utf-8") as stream:
        for number in range(count):
            references = [" ".join(draw.choices(WORDS, k=draw.randint(6, 12))) for _ in range(5)]
            stream.write(json.dumps({"id": str(number), "source": number, "references": references}) + "\n")
    return path


def main() -> int:
    ways = ("killed", "full", "workers", "power")
    parser = argparse.ArgumentParser(description="Disturb long runs, go on until they are done, and compare.")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(ways))
    parser.add_argument("--input", type=Path, default=None)
    given = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="polyref-resume-"))
    source = given.input.resolve() if given.input else make_input(work / "data.jsonl", random.Random(given.seed))
    trials = Trials(work, source, random.Random(given.seed))
    findings = 0
    for way in given.only:
        codes, same = Codes(), 0
        for number in range(given.times):
            form = trials.draw.choice(sorted(FORMS))
            folder = work / f"{way}-{number}"
            folder.mkdir()
            wrong = getattr(trials, way)(folder, form, codes)
            same += not wrong and not codes[LEFT_OUT]
            findings += len(wrong)
            sys.stdout.writelines(f"{way} {number} ({form}): {one}\n    {folder}\n" for one in wrong)
            sys.stdout.flush()
            if not wrong:
                shutil.rmtree(folder)
        sys.stdout.write(f"{way}: {same} of {given.times} runs with the same bytes; {dict(sorted(codes.items()))}\n")
        sys.stdout.flush()
    if not findings:
        shutil.rmtree(work)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
