"""What an agent remembers through a restart, in a small JSON file that is replaced in one step."""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from arenite.errors import UsageError
from arenite.files import replace_file
from arenite.host.fleet.messages import DesiredRelease, desired_fields
from arenite.input_files import parse_json, read_text
from arenite.locks import lock_now

#: An epoch is the number of the store times this, plus the number of the boot.
BOOTS_PER_STORE = 2**20


@dataclass(slots=True)
class AgentState:
    """``store`` is random, so that a device whose memory was erased begins other epochs than before."""

    store: int
    boots: int = 0
    generation: int = 0  # of the last desired release that the device has taken up
    release: str = ""  # that ran last
    installing: DesiredRelease | None = None

    @property
    def epoch(self) -> int:
        return self.store * BOOTS_PER_STORE + self.boots

    def next_boot(self) -> None:
        self.boots += 1
        if self.boots == BOOTS_PER_STORE:
            self.store, self.boots = new_store(), 1

    def save(self, path: Path, *, is_durable: bool) -> None:
        """Raises ``OSError``."""
        fields = asdict(self) | {
            "installing": None if self.installing is None else desired_fields(self.installing)
        }
        replace_file(path, json.dumps(fields).encode(), durable=is_durable, private=True)


def load_state(path: Path) -> AgentState:
    """Return the state in the file, or a new one if there is no file. Raises ``UsageError`` if it is not such a
    file."""
    if not path.exists():
        return AgentState(new_store())
    try:
        fields = parse_json(read_text(path))
        installing = fields.pop("installing")
        return AgentState(**fields, installing=None if installing is None else DesiredRelease(**installing))
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise UsageError(
            f"{path} is not the state of a device: {error}.",
            "Delete its folder. The device then begins anew, and events that the server does not have are lost.",
        ) from error


def new_store() -> int:
    """Return a random number of 31 bits that is not 0."""
    return secrets.randbelow(2**31 - 1) + 1


def lock_folder(folder: Path) -> BinaryIO:
    """Lock the folder for one agent, until the file is closed. Raises ``UsageError`` if another agent has the lock."""
    lock = lock_now(folder / "lock")
    if lock is None:
        # Both would number their events alike, and each would overwrite the file of the other.
        raise UsageError(
            f"Another agent already uses the folder {folder}.",
            "Stop that one, or give each device its own folder.",
        )
    return lock
