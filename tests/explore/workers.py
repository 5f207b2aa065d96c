"""What workers of the tests do: answer at once, wait, fail or die."""

from __future__ import annotations

import os
from collections.abc import Callable
from time import sleep
from typing import Any


def set_up() -> Callable[[Any], Any]:
    def answer(asked: Any) -> Any:
        if asked == "wait for ever":
            sleep(3600)
        if asked == "die":
            os._exit(1)
        if asked == "fail":
            raise ValueError("failed")
        return os.getpid() if asked == "who" else asked

    return answer
