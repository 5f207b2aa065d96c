"""An explorer that runs in a process of its own, and what it answers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from samples import CAT

HOSTILE = [
    "<script>alert(1)</script> a cat",
    "</style><img src=x onerror=alert(1)> a cat",
    "a \u202ecat\u2066 & \"dog\" 'a'",
]
EXAMPLES = [
    {"id": "cat", "source": "photo-1", "references": CAT},
    {"id": "dogs", "source": None, "references": ["two dogs run", "three dogs run fast", "two dogs run fast"]},
    {"id": "<script>alert(2)</script>", "source": "<b>bold</b>", "references": HOSTILE},
    {"id": "one", "source": {"a": [1]}, "references": ["a single reference"]},
    {
        "id": "enten",
        "source": "photo-2",
        "references": ["ein Junge füttert Enten am Teich", "ein Kind füttert am Teich Enten"],
    },
]


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)


@dataclass(frozen=True)
class Served:
    """An explorer: its port, and its process."""

    port: int
    process: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def send(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, dict(headers or {}))
            found = connection.getresponse()
            return Answer(found.status, {name.lower(): value for name, value in found.getheaders()}, found.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.send("GET", path, None, headers)

    def post(self, kind: str, given: Any, headers: Mapping[str, str] | None = None) -> Answer:
        body = given if isinstance(given, bytes) else json.dumps(given).encode()
        return self.send("POST", f"/api/{kind}", body, {"Content-Type": "application/json", **(headers or {})})


@contextmanager
def serving(*arguments: object) -> Iterator[Served]:
    command = [
        sys.executable,
        "-m",
        "polyref",
        "explore",
        *map(str, arguments),
        "--port",
        "0",
        "--no-browser",
        "--json",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["address"]
        yield Served(int(address.rpartition(":")[2].rstrip("/")), process.pid)
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


def write_examples(path: Path) -> Path:
    path.write_text("".join(json.dumps(example) + "\n" for example in EXAMPLES), "utf-8")
    return path
