"""How fast the explorer answers: `python -m benchmarks.explorer FILE`, on loopback, in about a minute or two.

It starts `polyref explore FILE`, and measures the time until the page and its first answer are there, the server's time
for moves of the penalty's slider over many examples (as its header Server-Timing says, waiting included), and whether
200 requests at once are all answered.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from statistics import quantiles
from time import perf_counter, sleep
from typing import Any

EXAMPLES = 500
MOVES = (0.35, 0.45, 0.55, 0.65)
AT_ONCE = 200
_TIMING = re.compile(r"dur=([\d.]+)")


def post(port: int, kind: str, given: Any) -> tuple[int, float]:
    """The status of an answer, and the server's milliseconds."""
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("POST", f"/api/{kind}", json.dumps(given), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        return answer.status, float((_TIMING.search(answer.getheader("server-timing", "")) or ["", "nan"])[1])
    finally:
        connection.close()


def get(port: int, path: str) -> bytes:
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("GET", path)
        return connection.getresponse().read()
    finally:
        connection.close()


def asked(id: str, penalty: float) -> dict[str, Any]:
    return {"example": id, "width": 1315, "settings": {"align": "soft", "penalty": penalty}}


def measure(port: int, started: float) -> None:
    get(port, "/")
    print(f"start to page            {perf_counter() - started:6.2f} s")
    ids: list[str] = []
    while len(ids) < EXAMPLES:
        found = json.loads(get(port, f"/api/examples?size=200&start={len(ids)}"))["examples"]
        if not found:
            break
        ids += [one["id"] for one in found]
    post(port, "look", asked(ids[0], 0.5))
    print(f"start to first answer    {perf_counter() - started:6.2f} s")
    sleep(8)  # until the kernels are loaded
    first, moves = [], []
    for id in ids[:EXAMPLES]:
        first.append(post(port, "look", asked(id, 0.5))[1])
        moves += [post(port, "look", asked(id, penalty))[1] for penalty in MOVES]
    for name, times in (("an example, first look", first), ("a move of the slider", moves)):
        cuts = quantiles(times, n=100)
        within = sum(time <= 100 for time in times) / len(times)
        line = f"{name:<24} {cuts[49]:6.1f} ms median, {cuts[94]:.1f} at 95 %, {max(times):.1f} at most"
        print(f"{line}; {within:.1%} within 100 ms")
    begun = perf_counter()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        given = [asked(ids[n % len(ids)], n / AT_ONCE) for n in range(AT_ONCE)]
        statuses = [status for status, _ in pool.map(lambda one: post(port, "look", one), given)]
    print(f"{AT_ONCE} at once              {perf_counter() - begun:6.2f} s, {sum(s != 200 for s in statuses)} errors")


def main() -> None:
    [file] = sys.argv[1:]
    started = perf_counter()
    command = [sys.executable, "-m", "polyref", "explore", file, "--port", "0", "--no-browser", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["address"]
        measure(int(address.rpartition(":")[2].rstrip("/")), started)
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
