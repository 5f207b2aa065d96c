"""What the numbers were measured with.

In:   this machine. Out: facts as pairs of texts. Not: anything about results.
"""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

PEERS = ("polyref", "numba", "numpy", "sacrebleu", "nltk", "biopython", "networkx")


def facts() -> list[tuple[str, str]]:
    return [
        ("processor", f"{_processor()}, {os.cpu_count()} cores"),
        ("system", platform.platform()),
        ("load at the start", f"{os.getloadavg()[0]:.2f} processes"),
        ("Python", platform.python_version()),
        *((name, version(name)) for name in PEERS),
    ]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown"
