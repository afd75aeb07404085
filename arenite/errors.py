"""The exception classes for all errors that a user can meet.

Each error has one sentence on the problem, one sentence on what to try, and the exit code that the command line returns
for it (see docs/cli.md).
"""

from __future__ import annotations

from arenite.printable import printable_lines


class AreniteError(Exception):
    """An error that the user can correct.

    ``problem`` describes the error with the value or name concerned; ``hint`` suggests what to try next. Values and
    names may come from a device or a file, so control characters in both are escaped.
    """

    exit_code = 2

    def __init__(self, problem: str, hint: str = "") -> None:
        self.problem = printable_lines(problem)
        self.hint = printable_lines(hint)
        super().__init__(self.problem)

    def __str__(self) -> str:
        return f"{self.problem} {self.hint}".strip()


class ModelError(AreniteError):
    """A model file cannot be read or is malformed; the message names the table and the field."""


class UnsupportedModelError(ModelError):
    """Arenite cannot run a well-formed model; the message names the operator, its index and its tensor."""


class PlanError(AreniteError):
    """A plan is not valid, or a graph cannot be planned."""


class ProfileError(AreniteError):
    """A board, host or meter is unknown, or a profile file has a bad field."""


class UsageError(AreniteError):
    """A command cannot work as it was called: a missing extra, a bad option, a missing file."""


class DoesNotFitError(AreniteError):
    """The model is too large for the board; the message has the number of missing bytes."""

    exit_code = 1


class ToolError(AreniteError):
    """A compiler, emulator or uploader failed or is missing."""

    exit_code = 3


class DeviceError(AreniteError):
    """A device hangs, resets, gives wrong answers, or runs other firmware than expected."""

    exit_code = 3
