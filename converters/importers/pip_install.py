"""Install packages into an environment with the pip of the Python that runs Arenite, and report pip's errors as one
sentence."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic

from arenite.errors import ToolError
from arenite.processes import Child
from arenite.safe_console import SafeConsole

#: A part of pip's message about a file with a wrong hash.
_WRONG_HASH = "DO NOT MATCH THE HASHES"

TIMEOUT_SECONDS = 3600.0
"""The limit of one run of pip in seconds: enough for 2 GB over a slow network."""


class HashError(ToolError):
    """The downloaded file of a package does not have the hash in the lock file."""


def install(
    name: str,
    python: Path,
    lock: Path,
    progress: bool,
    *,
    first_lock: Path | None = None,
    fallback_lock: Path | None = None,
    index: str = "",
) -> None:
    """Install the packages of ``lock`` into the environment called ``name`` with the interpreter ``python``.

    Every downloaded file must have a hash that the lock file lists for it. ``first_lock`` is installed before ``lock``,
    from the package index ``index`` and pip's own indexes. If that fails for any reason other than a wrong hash,
    ``fallback_lock`` is installed together with ``lock`` instead. pip uses the index, mirror or proxy that it is
    configured for. ``progress`` shows the current download on standard error.

    Raises:
        ToolError: pip failed, or a file has none of the hashes that the lock file lists for it.
    """
    pip = (sys.executable, "-m", "pip", "--python", str(python), "install", "--prefer-binary", "--no-input")
    quiet = ("--progress-bar=off", "--disable-pip-version-check")
    locked = ("--require-hashes", "--no-deps")
    console = SafeConsole(stderr=True, quiet=not progress, highlight=False, markup=False)
    started = monotonic()
    with console.status(f"Creating the environment '{name}' (only the first time)") as status:

        def report(line: str) -> None:
            step = _step(line)
            if step:
                status.update(f"Creating the environment '{name}' (only the first time): {step}")

        if not console.is_terminal:
            console.print(f"Creating the environment '{name}' (only the first time) ...")
        small_build = first_lock is not None
        if first_lock is not None:
            extra = ("--retries=0", f"--extra-index-url={index}")
            try:
                _run([*pip, *quiet, *locked, *extra, "-r", str(first_lock)], name, report)
            except HashError:
                raise
            except ToolError:
                small_build = False
        locks = [lock] if small_build or fallback_lock is None else [lock, fallback_lock]
        files = [argument for path in locks for argument in ("-r", str(path))]
        _run([*pip, *quiet, *locked, "--retries=2", *files], name, report)
    console.print(f"Created the environment '{name}' in {monotonic() - started:.0f} s.")


def _run(command: list[str], name: str, report: Callable[[str], None]) -> None:
    """Run pip for the environment called ``name``, and call ``report`` with each line of its output. Raises
    ``ToolError`` if pip fails."""
    lines: list[str] = []
    with Child(
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
    """Return the step that a line of pip's output reports, such as "downloading tensorflow-2.21.0 (570 MB)" or
    "installing". Return "" for other lines."""
    words = line.split()
    if line.startswith(("Collecting", "  Downloading", "Downloading")) and len(words) > 1:
        file_name = words[1].rpartition("/")[2].partition("-cp")[0]
        size = line[line.rfind("(") :] if line.endswith("B)") else ""
        return f"{words[0].lower()} {file_name} {size}".strip()
    return "installing" if line.startswith("Installing collected packages") else ""


def _failure(name: str, lines: Sequence[str]) -> ToolError:
    """Return pip's error as one sentence, with a remedy."""
    text = "\n".join(lines)
    if "No module named pip" in text:
        return ToolError(
            f"This Python has no pip, which is needed to create the environment '{name}'.",
            "Run `python -m ensurepip`.",
        )
    if "No space left on device" in text:
        return ToolError(
            f"There is not enough disk space to create the environment '{name}'.",
            "Set ARENITE_CACHE to a folder with more free space.",
        )
    if _WRONG_HASH in text:
        return _hash_failure(name, lines)
    errors = [line.partition("ERROR: ")[2] for line in lines if "ERROR: " in line]
    reason = (
        errors[-1].rstrip(".") if errors else next((x for x in reversed(lines) if x), "pip gave no reason")
    )
    if "after connection broken" in text:  # pip's own error is then only that it did not find the version
        reason = "the package index cannot be reached"
    return ToolError(
        f"Could not create the environment '{name}': {reason}.",
        "Check the network and pip's package index. The environment works offline as soon as it is created.",
    )


def _hash_failure(name: str, lines: Sequence[str]) -> HashError:
    """Return the error for a wrong hash. It names the package and the file's actual hash, which pip prints below the
    line with ``_WRONG_HASH``."""
    at = next(i for i, line in enumerate(lines) if _WRONG_HASH in line)
    below = [line.split() for line in lines[at + 1 :] if line.strip()]
    package = below[0][0] if below else "a package"
    hashes = [words[-1] for words in below if words[0] == "Got"]
    actual = f" (its SHA-256 is {hashes[0]})" if hashes else ""
    return HashError(
        f"The file of {package} that was downloaded for the environment '{name}' is not the one in the lock "
        f"file{actual}, so it was not installed.",
        "Check the package index, mirror or proxy that pip is configured for: it served another file.",
    )
