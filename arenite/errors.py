"""Every error that a user can meet, as one tree that mirrors the folders.

Each carries one sentence of what is wrong and one of what to try, and the exit code that the command line
returns for it (see docs/cli.md).
"""

from __future__ import annotations


class AreniteError(Exception):
    """Something a person can act on.

    ``problem`` says what is wrong, with the value or name concerned; ``hint`` says what to try next.
    """

    exit_code = 2

    def __init__(self, problem: str, hint: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.problem} {self.hint}".strip()


class ModelError(AreniteError):
    """A model file that cannot be read, or is malformed: names the table and the field."""


class UnsupportedModelError(ModelError):
    """A well-formed model that Arenite does not run: names the operator, its index and its tensor."""


class PlanError(AreniteError):
    """A plan that is wrong, or a graph that cannot be planned."""


class ProfileError(AreniteError):
    """An unknown board, host or meter, or a profile file with a bad field."""


class UsageError(AreniteError):
    """A command used in a way that cannot work: a missing extra, a bad option, a missing file."""


class DoesNotFitError(AreniteError):
    """The model is too large for the board; the message has the number of missing bytes."""

    exit_code = 1


class ToolError(AreniteError):
    """A compiler, emulator or uploader failed or is missing."""

    exit_code = 3


class DeviceError(AreniteError):
    """A device that hangs, resets, answers wrongly, or runs other firmware than expected."""

    exit_code = 3
