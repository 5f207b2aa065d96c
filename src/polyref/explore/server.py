"""The explorer's web server: its page, and the JSON behind it (docs/explore.md).

In:   a library of examples, and settings to begin with.
Out:  a Starlette application, and a server on 127.0.0.1 that runs it.
Not:  the answers (analysis.py), the processes that find them (crew.py), the page itself (static/).

It answers to this machine alone. A page of another site can neither read an answer (its Host or Origin is refused, also
where its name leads here), nor have one computed. Nothing is written, and no text of the data is ever markup.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, NoReturn

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from polyref import __version__
from polyref.data import ReadSettings
from polyref.draw.matrix import matrix_style
from polyref.draw.page import page_style
from polyref.errors import OutputError, PolyrefError, SettingsError
from polyref.explore import asking
from polyref.explore.analysis import Download, Ranking, answering
from polyref.explore.asking import LookSettings, Question
from polyref.explore.crew import BusyError, Crew
from polyref.explore.library import ORDERS, Library
from polyref.judge import CAUSES_IN_WORDS, EXAMPLES_READ
from polyref.scale.pool import WorkerDiedError
from polyref.settings import shown

HOST = "127.0.0.1"
MOST_BYTES = 5_000_000
MOST_LISTED = 200
_RANKED_TOGETHER = 8  # few, so that whoever asks something waits for a moment only
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


# -- what may come in -------------------------------------------------------------------------------------------------


class Door:
    """Lets in what comes from this machine, and is not too much; adds the headers that browsers keep to."""

    def __init__(self, app: ASGIApp, port: int):
        self._app = app
        self._hosts = {f"{name}:{port}" for name in (HOST, "localhost")}
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message["headers"],
                    *[(name.encode(), value.encode()) for name, value in _HEADERS.items()],
                ]
            await send(message)

        refused = self._refused(scope)
        if refused is not None:
            await refused(scope, receive, with_headers)
        else:
            await self._app(scope, receive, with_headers)

    def _refused(self, scope: Scope) -> Response | None:
        headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = [value.lower() for name, value in headers if name == "host"]
        origins = [value.lower() for name, value in headers if name == "origin"]
        sites = [value for name, value in headers if name == "sec-fetch-site"]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return _error(403, "this server answers to 127.0.0.1 and localhost alone")
        if any(origin not in self._origins for origin in origins):
            return _error(403, "another site asks; open the explorer itself")
        if scope["path"].startswith("/api/") and any(site not in ("same-origin", "none") for site in sites):
            return _error(403, "another site asks; open the explorer itself")
        return None


def _error(status: int, text: str) -> JSONResponse:
    return JSONResponse({"error": text}, status)


async def _object(request: Request) -> dict[str, Any]:
    """The JSON object that a request brings."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "send JSON, and say so: Content-Type: application/json")
    too_much = HTTPException(413, f"this is more than {MOST_BYTES:,} bytes; send less at once")
    if int(request.headers.get("content-length", "0")) > MOST_BYTES:
        raise too_much
    content = b""
    async for piece in request.stream():
        content += piece
        if len(content) > MOST_BYTES:
            raise too_much
    try:
        given = json.loads(content, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise HTTPException(400, "this is not JSON, or nested too deeply; send an object") from None
    if not isinstance(given, dict):
        raise HTTPException(400, "this is not a JSON object; send one")
    return given


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)


# -- what is asked ----------------------------------------------------------------------------------------------------


@dataclass
class Explorer:
    """Everything that the pages of one server share."""

    library: Library
    given: LookSettings
    reading: ReadSettings
    crew: Crew = field(init=False)
    _ranking: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        first = [self.library.example(number) for number in range(min(len(self.library), EXAMPLES_READ))]
        self.crew = Crew(partial(answering, first))
        self.base = asking.base_of(self.given)
        self.encoders = asking.encoders_of(self.given)

    def about(self) -> dict[str, Any]:
        """What a page must know before it asks."""
        return {
            "version": __version__,
            "file": self.library.name,
            "examples": len(self.library),
            "first": self.library.corpus.id(0),
            "controls": asking.controls(self.given, self.encoders),
            "orders": ORDERS,
            "causes": CAUSES_IN_WORDS,
            "limits": {
                "bytes": MOST_BYTES,
                "references": asking.MOST_REFERENCES,
                "words": asking.MOST_WORDS,
                "per_example": asking.MOST_PER_EXAMPLE,
            },
        }

    def question(self, kind: asking.Kind, given: Mapping[str, Any]) -> Question:
        """A question from a JSON object: about an example of the file, or about references that it brings."""
        settings = asking.settings_of(given.get("settings", {}), self.base, self.encoders)
        if "references" in given:
            return asking.question_of(kind, given, asking.own_example(given["references"]), True, settings)
        id = given.get("example")
        number = self.library.number(id) if isinstance(id, str) else None
        if number is None:
            raise HTTPException(404, f"there is no example {shown(id)} in {self.library.name}")
        return asking.question_of(kind, given, self.library.example(number), False, settings)

    def examples(self, given: Mapping[str, str]) -> dict[str, Any]:
        """Some examples of the file, and where the chosen one stands among those that were found."""
        order, search, at = given.get("order", "file"), given.get("search", ""), given.get("at")
        if order not in ORDERS:
            raise SettingsError(f"is {shown(order)}", f"choose one of {', '.join(ORDERS)}", key="order")
        start, size = (_whole(given, name, usual) for name, usual in (("start", 0), ("size", 50)))
        found = self.library.find(search, order)
        number = None if at is None else self.library.number(at)
        place = None if number is None or number not in found else found.index(number)
        beside = [place - 1, place + 1] if place is not None else [-1, 0]
        before, after = (self.library.corpus.id(found[n]) if 0 <= n < len(found) else None for n in beside)
        return {
            "found": len(found),
            "place": place,
            "previous": before,
            "next": after,
            "ranked": [len(self.library.ranked), self.library.to_rank],
            "examples": [self.library.about(number) for number in found[start : start + size]],
        }

    def rank(self) -> None:
        """Begin to find out what the first examples are sorted by, if nobody has."""
        if self._ranking is None:
            self._ranking = asyncio.create_task(self._rank())

    def stop(self) -> None:
        """Find out no more."""
        if self._ranking is not None:
            self._ranking.cancel()

    async def _rank(self) -> None:
        library = self.library
        for start in range(0, library.to_rank, _RANKED_TOGETHER):
            numbers = range(start, min(start + _RANKED_TOGETHER, library.to_rank))
            while not self.crew.is_idle:
                await asyncio.sleep(0.02)
            found: list[Any] = [None] * len(numbers)
            with suppress(WorkerDiedError, BusyError):  # the others are worth it
                found = await self.crew.ask(Ranking([library.example(number) for number in numbers], self.given))
            library.ranked |= dict(zip(numbers, found, strict=True))


def _whole(given: Mapping[str, str], name: str, usual: int) -> int:
    text = given.get(name, str(usual))
    if not (text.isascii() and text.isdecimal() and len(text) < 10) or (name == "size" and int(text) > MOST_LISTED):
        most = f"from 0 to {MOST_LISTED}" if name == "size" else "that is 0 or more"
        raise SettingsError(f"is {shown(text)}", f"give a whole number {most}", key=name)
    return int(text)


# -- the application --------------------------------------------------------------------------------------------------


def application(explorer: Explorer, port: int, on_start: Callable[[], None] = lambda: None) -> ASGIApp:
    """The web application; it answers to this port alone."""

    @asynccontextmanager
    async def running(app: Starlette) -> AsyncIterator[None]:
        async with explorer.crew:
            on_start()
            yield
            explorer.stop()

    async def about(request: Request) -> Response:
        return JSONResponse(explorer.about())

    async def examples(request: Request) -> Response:
        given = dict(request.query_params)
        if given.get("order") not in (None, "file", "references"):
            explorer.rank()
        return JSONResponse(await asyncio.to_thread(explorer.examples, given))

    routes = [
        Route("/api/about", about),
        Route("/api/examples", examples),
        *[Route(f"/api/{kind}", _asks(explorer, kind), methods=["POST"]) for kind in asking.KINDS],
        *[Route(path, page, methods=["GET"]) for path, page in _files().items()],
    ]
    app = Starlette(
        routes=routes,
        lifespan=running,
        exception_handlers=dict.fromkeys((HTTPException, ClientDisconnect, PolyrefError, Exception), _refuse),
    )
    return Door(app, port)


def _asks(explorer: Explorer, kind: asking.Kind) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        started = perf_counter()
        question = explorer.question(kind, await _object(request))
        found = await _unless_gone(request, explorer.crew.ask(question))
        if isinstance(found, Download):
            headers = {"content-disposition": f'attachment; filename="{found.name}"'}
            return Response(found.content, 200, headers, found.kind)
        if found is None:
            return Response(status_code=204)  # nobody is there to read it
        if kind == "look":
            found["commands"] = asking.commands(question, explorer.library.path, explorer.reading)
            found["id"], found["source"] = question.example.id, question.example.source
        timing = {"server-timing": f"total;dur={1000 * (perf_counter() - started):.1f}"}
        return JSONResponse(found, headers=timing)

    return answer


async def _unless_gone(request: Request, asked: Awaitable[Any]) -> Any:
    """The answer; None if whoever asked has left, and then it is given up."""
    answer = asyncio.ensure_future(asked)
    gone = asyncio.ensure_future(_leaving(request))
    try:
        await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
        return answer.result() if answer.done() else None
    finally:
        answer.cancel()
        gone.cancel()


async def _leaving(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _refuse(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return _error(error.status_code, str(error.detail))
    if isinstance(error, ClientDisconnect):
        return Response(status_code=204)  # nobody is there to read it
    if isinstance(error, BusyError):
        return _error(503, str(error))
    if isinstance(error, PolyrefError) and not isinstance(error, WorkerDiedError):
        return _error(400, str(error))
    return _error(
        500, str(error) if isinstance(error, PolyrefError) else "something went wrong; the terminal says what"
    )


def _files() -> dict[str, Response]:
    """The page and its parts, by their addresses; kept in memory, so no address leads to another file."""
    found = {}
    for path in sorted(Path(__file__).with_name("static").iterdir()):
        address = "/" if path.name == "index.html" else f"/static/{path.name}"
        found[address] = Response(path.read_bytes(), media_type=_TYPES[path.suffix])
    found["/static/shared.css"] = Response(page_style("auto") + matrix_style(), media_type="text/css")
    return found


# -- the server -------------------------------------------------------------------------------------------------------


def bound_socket(port: int) -> socket.socket:
    """A socket of this machine alone, which listens already: whoever is early waits. 0 is any free port."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((HOST, port))
        made.listen(2048)
    except OSError as error:
        made.close()
        cure = "choose another with --port, or 0 for any that is free"
        raise OutputError(f"port {port} cannot be used ({error.strerror}); {cure}") from None
    return made


def serve(explorer: Explorer, listening: socket.socket, *, browser: bool) -> None:
    """Serve until a signal comes."""
    port = listening.getsockname()[1]
    address = f"http://{HOST}:{port}/"

    def on_start() -> None:
        if browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    config = uvicorn.Config(
        application(explorer, port, on_start),
        lifespan="on",
        log_level="error",
        proxy_headers=False,
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=1,
    )
    with listening:
        uvicorn.Server(config).run(sockets=[listening])
