"""An attack: hostile input for a command, and the refusal that is expected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.security.attack_runner import Prepared


@dataclass(frozen=True)
class Attack:
    """An attack. ``make`` writes the input into the folder ``work`` and returns the arguments of the command. ``code``
    is the documented exit code, and ``words`` are texts that the output must have."""

    name: str
    code: int
    words: Sequence[str]
    make: Callable[[Path], Prepared | Sequence[object]]

    def prepare(self, work: Path) -> Prepared:
        """Write the input and return the command that is ready to run."""
        command = self.make(work)
        return command if isinstance(command, Prepared) else Prepared(command)
