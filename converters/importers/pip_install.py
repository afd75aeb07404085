"""Install packages into an environment with the pip of this Python, and say what pip says as one sentence."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic

from rich.console import Console

from arenite.errors import ToolError

TIMEOUT_SECONDS = 3600.0
"""For one run of pip: 2 GB over a slow line."""


def install(
    name: str, python: Path, requires: Sequence[str], first: Sequence[str], index: str, progress: bool
) -> None:
    """Put ``requires`` into the environment of ``python``; ``first`` before them, from ``index`` besides pip's own.

    Any index, mirror or proxy that pip is set up for is used. ``progress`` tells on standard error what is being
    fetched. Raises ``ToolError``.
    """
    pip = (sys.executable, "-m", "pip", "--python", str(python), "install", "--prefer-binary", "--no-input")
    quiet = ("--progress-bar=off", "--disable-pip-version-check")
    console = Console(stderr=True, quiet=not progress, highlight=False, markup=False)
    started = monotonic()
    with console.status(f"Making the environment '{name}', once") as status:

        def report(line: str) -> None:
            step = _step(line)
            if step:
                status.update(f"Making the environment '{name}', once: {step}")

        if not console.is_terminal:
            console.print(f"Making the environment '{name}', once ...")
        if first:
            extra = ("--no-deps", "--retries=0", f"--extra-index-url={index}")
            _run([*pip, *quiet, *extra, *first], name, report)
        _run([*pip, *quiet, "--retries=2", *requires], name, report)
    console.print(f"Made the environment '{name}' in {monotonic() - started:.0f} s.")


def _run(command: list[str], name: str, report: Callable[[str], None]) -> None:
    lines: list[str] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        timer = threading.Timer(TIMEOUT_SECONDS, process.kill)
        timer.start()
        try:
            for line in process.stdout:
                lines.append(line.rstrip())
                report(lines[-1])
        except BaseException:
            process.kill()
            raise
        finally:
            timer.cancel()
    if process.returncode != 0:
        raise _failure(name, lines)


def _step(line: str) -> str:
    """What pip is doing, for a person: "Downloading tensorflow-2.21.0-...whl (570 MB)"."""
    words = line.split()
    if line.startswith(("Collecting", "  Downloading", "Downloading")) and len(words) > 1:
        what = words[1].rpartition("/")[2].partition("-cp")[0]
        size = line[line.rfind("(") :] if line.endswith("B)") else ""
        return f"{words[0].lower()} {what} {size}".strip()
    return "installing" if line.startswith("Installing collected packages") else ""


def _failure(name: str, lines: Sequence[str]) -> ToolError:
    """pip's complaint as one sentence, with what to do about it."""
    text = "\n".join(lines)
    if "No module named pip" in text:
        return ToolError(
            f"This Python has no pip to make the environment '{name}' with.", "Run `python -m ensurepip`."
        )
    if "No space left on device" in text:
        return ToolError(
            f"There is no room to make the environment '{name}'.",
            "Set ARENITE_CACHE to a folder with more room.",
        )
    errors = [line.partition("ERROR: ")[2] for line in lines if "ERROR: " in line]
    reason = errors[-1].rstrip(".") if errors else next((x for x in reversed(lines) if x), "pip said nothing")
    if "after connection broken" in text:  # pip then only says that it found no such version
        reason = "the package index cannot be reached"
    return ToolError(
        f"Could not make the environment '{name}': {reason}.",
        "Check the network, or the package index that pip is set up for; once made, it works offline.",
    )
