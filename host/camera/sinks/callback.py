"""Pass served frames to a function of the user, for the option ``--callback``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.sinks.writer import to_stderr

FrameCallback = Callable[[ServedFrame, Frame | None], Any]

_HINT = "Give MODULE:FUNCTION or FILE.py:FUNCTION; the function takes (served, frame)."


class CallbackSink:
    """Calls ``function(served, frame)`` in the loop's own thread, so that a slow function delays the loop.

    The frame's pixels are valid only during the call. An exception is reported once, with its traceback. The loop
    continues, and the function is called again with the next frame. ``failures`` counts the exceptions.
    """

    def __init__(self, function: FrameCallback, *, report: Callable[[str], None] = to_stderr) -> None:
        self._function, self._report = function, report
        self.name = getattr(function, "__qualname__", type(function).__name__)
        self.failures = 0

    def take(self, served: ServedFrame, frame: Frame | None) -> None:
        try:
            self._function(served, frame)
        except Exception:
            self.failures += 1
            if self.failures == 1:
                self._report(
                    f"The callback {self.name} failed on frame {served.number}. The loop continues, and further "
                    f"failures are only counted.\n{traceback.format_exc().rstrip()}"
                )

    def close(self) -> None:
        if self.failures > 1:
            self._report(f"The callback {self.name} failed on {self.failures:,} frames.")


def load_callback(text: str) -> FrameCallback:
    """Load the function that ``text`` names: ``package.module:function`` or ``file.py:function``.

    Raises ``UsageError``, also if the import of the module fails.
    """
    place, _, name = text.rpartition(":")
    if not place or not name:
        raise UsageError(f"'{text}' is not the name of a callback.", _HINT)
    try:
        module = _import_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"Cannot import {place}: {type(error).__name__}: {error}.", _HINT) from error
    function: Any = module
    for part in name.split("."):
        function = getattr(function, part, None)
    if not callable(function):
        raise UsageError(f"{place} has no function '{name}'.", _HINT)
    value: FrameCallback = function
    return value


def _import_file(path: Path) -> Any:
    if not path.is_file():
        raise UsageError(f"There is no file {path}.", _HINT)
    name = f"arenite_callback_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
