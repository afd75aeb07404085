"""Describe an upload to a board, run an uploader's program, and explain its failure."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from arenite.errors import AreniteError, DeviceError, ToolError
from arenite.processes import run as run_command
from arenite.profiles.boards import Board

UPLOAD_TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Upload:
    """The parameters of an upload: the project in ``directory``, its ELF, the board, and how the board is connected.

    ``port`` is a serial port, HOST:PORT for gdb, or the folder of a drive for uf2 and copy. ``probe`` is the serial
    number of the debug probe. ``extra`` has more arguments for the tool. ``root`` is the folder that contains ``sys``,
    ``dev`` and ``proc``.
    """

    directory: Path
    board: Board
    elf: Path
    port: str | None = None
    probe: str | None = None
    extra: tuple[str, ...] = ()
    root: Path | None = None

    @property
    def binary(self) -> Path:
        """The raw image that PlatformIO writes beside the ELF."""
        return self.elf.with_suffix(".bin")


class Uploader(Protocol):
    """The interface of all uploaders. An uploader writes a program into a chip with one tool."""

    @property
    def name(self) -> str:
        """The name for --tool."""
        ...

    def missing(self) -> str | None:
        """Return how to install the uploader's program, or None if it is installed."""
        ...

    def describe(self, upload: Upload) -> list[str]:
        """Return the commands of the upload, as lines for a shell."""
        ...

    def run(self, upload: Upload) -> int:
        """Upload, and return the number of bytes written. Raises ToolError, DeviceError, UsageError."""
        ...


@dataclass(frozen=True)
class KnownFailure:
    """A pattern in the output of a failed tool, and its explanation as an error of class ``kind``. In ``problem`` and
    ``hint``, ``{board}``, ``{port}`` and ``{found}`` (the text of the pattern's first matching group) are replaced."""

    pattern: str
    problem: str
    hint: str
    kind: type[AreniteError] = DeviceError


#: Failures that any of the tools may report.
COMMON = (
    KnownFailure(
        r"LIBUSB_ERROR_ACCESS|insufficient permissions|[Aa]ccess denied|Permission denied|Cannot open DFU device",
        "No permission to use the USB device of {board}.",
        "Run `arenite boards --udev | sudo tee /etc/udev/rules.d/70-arenite.rules`, then connect the board again.",
    ),
    KnownFailure(
        r"LIBUSB_ERROR_BUSY|[Rr]esource busy|unable to claim interface|could not claim interface",
        "Another program uses the USB device of {board}.",
        "Close the debugger, the IDE or the monitor that uses it.",
    ),
)


@dataclass(frozen=True)
class CommandUploader:
    """An uploader that runs a program. ``install`` says how to install the program, ``command`` returns its command
    line, ``nbytes`` returns the number of bytes that it writes, and ``failures`` explain its output."""

    name: str
    install: str
    command: Callable[[Upload], list[str]]
    nbytes: Callable[[Upload], int]
    failures: tuple[KnownFailure, ...] = ()
    prepare: Callable[[Upload], Upload] | None = None  # prepares the board and may change its port
    success_output: str = ""  # output that means success, whatever the exit code

    def missing(self) -> str | None:
        """See :class:`Uploader`."""
        return None if find_program(PROGRAMS.get(self.name, self.name)) else self.install

    def describe(self, upload: Upload) -> list[str]:
        """See :class:`Uploader`."""
        return [shlex.join(self.command(upload))]

    def run(self, upload: Upload) -> int:
        """See :class:`Uploader`."""
        if self.prepare is not None:
            upload = self.prepare(upload)
        command = self.command(upload)
        try:
            process = run_command(
                command, capture_output=True, text=True, errors="replace", timeout=UPLOAD_TIMEOUT_S
            )
        except FileNotFoundError as error:
            raise ToolError(
                f"The uploader {self.name} is not installed.", f"Install it: {self.install}"
            ) from error
        except subprocess.TimeoutExpired as error:
            raise ToolError(
                f"{command[0]} did not finish within {UPLOAD_TIMEOUT_S:.0f} s.",
                "Disconnect the board and connect it again.",
            ) from error
        output = f"{process.stdout}\n{process.stderr}"
        if process.returncode and not (self.success_output and self.success_output in output):
            raise explain(self, upload, output)
        return self.nbytes(upload)


#: Maps the name of an uploader to the name of its program, if the names differ.
PROGRAMS = {"stlink": "st-flash", "dfu": "dfu-util", "jlink": "JLinkExe"}


def find_program(program: str) -> str | None:
    """Return the path of ``program`` on PATH or beside this Python, or None if it is not installed.

    pip installs programs beside Python. They are not on PATH if the environment is not activated.
    """
    return shutil.which(program) or shutil.which(program, path=str(Path(sys.executable).parent))


def program(name: str) -> str:
    """Return the word that starts the program ``name``: its name if it is on PATH, else its path."""
    return name if shutil.which(name) else find_program(name) or name


def explain(tool: CommandUploader, upload: Upload, output: str) -> AreniteError:
    """Return an error that explains the output of the uploader ``tool``, which failed."""
    for failure in (*tool.failures, *COMMON):
        if match := re.search(failure.pattern, output, re.MULTILINE):
            facts = {
                "board": upload.board.name,
                "port": upload.port or "its port",
                "found": next((text for text in match.groups() if text), match.group()).strip(),
            }
            return failure.kind(failure.problem.format(**facts), failure.hint.format(**facts))
    lines = [line.strip() for line in output.splitlines() if line.strip()] or ["no output"]
    message = next((line for line in lines if "rror" in line), lines[-1])
    return DeviceError(
        f"Uploading to {upload.board.name} failed: {message}",
        "Check that the board is connected and that --port is right.",
    )


def on_port(upload: Upload, port: str | None) -> Upload:
    """Return the same upload with another port."""
    return replace(upload, port=port)
