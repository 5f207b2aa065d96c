"""`polyref explore`: look at the lattices of a file in the browser."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated

from polyref.cli import options as o
from polyref.data import Input, ReadSettings
from polyref.data.corpus import Corpus
from polyref.data.opening import display_name, located
from polyref.data.reading import SAMPLE
from polyref.errors import InputError, load_extra
from polyref.expansion import ExpandSettings
from polyref.scale import ToolSettings
from polyref.settings import setting, settings
from polyref.text import TextSettings


@settings(group="Server")
class ServeSettings:
    """Where the page is."""

    port: int = setting(8765, "Port of 127.0.0.1; 0: any that is free.", at_least=0, at_most=65535)
    no_browser: bool = setting(False, "Do not open the browser.")


@o.from_settings(
    settings=("keep_lattice", "shortfall", "tie_limit", "unseen_marks", "node_budget", "example_seconds"),
    tools=("language_model", "cache", "engine", "workers", "ray"),
)
def explore(
    file: Annotated[str | None, o.argument("FILE", "Examples in any format.  [default: the sample]")] = None,
    *,
    serving: ServeSettings,
    settings: ExpandSettings,
    preset: o.PresetOption = None,
    tools: ToolSettings,
    reading: ReadSettings,
    as_json: o.JsonOption = False,
) -> None:
    """Look at lattices in the browser, on this machine alone.

    Choose examples of the file or type your own, and move the settings. The settings here are those to begin with.
    """  # fmt: skip
    for module in ("starlette", "uvicorn"):
        load_extra(module, purpose="explore", extra="explore")
    from polyref.explore.asking import LookSettings
    from polyref.explore.library import Library
    from polyref.explore.server import HOST, Explorer, bound_socket, serve

    with bound_socket(serving.port) as listening:
        path = str(SAMPLE) if file is None else file
        with located(display_name(path)):
            corpus = Corpus.of(Input.of(path, reading).examples(require_source=False))
        if not len(corpus):
            raise InputError("there are no examples", "give at least one", file=display_name(path))
        if file is None and settings.text == TextSettings():
            settings = replace(settings, text=TextSettings("characters"))  # the sample has Chinese, Japanese and Thai
        explorer = Explorer(Library(path, corpus), LookSettings(settings, tools), reading)
        address = f"http://{HOST}:{listening.getsockname()[1]}/"
        told = f"{o.counted(len(corpus), 'example')}: {address} (Ctrl-C ends it)\n"
        o.summarise({"address": address, "examples": len(corpus)}, told, as_json=as_json)
        sys.stdout.flush()  # a program that waits for the address reads it now
        serve(explorer, listening, browser=not serving.no_browser)
