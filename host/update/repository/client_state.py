"""What a client remembers about a repository: refused and accepted models, and the lowest permitted counter."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arenite.files import replace_file

#: The maximum number of refused models that are remembered. The oldest ones are forgotten.
MAX_REFUSED = 100


@dataclass
class ClientState:
    """The state of one client, stored in the file ``path``.

    Attributes:
        refused: maps the SHA-256 of a refused model to its version and the reason.
        accepted: the SHA-256 of the model that passed its probation last; empty if there is none.
        min_counter: maps the name of a model to the lowest counter that is permitted.
    """

    path: Path
    refused: dict[str, dict[str, str]] = field(default_factory=dict)
    accepted: str = ""
    min_counter: dict[str, int] = field(default_factory=dict)

    def refuse(self, sha256: str, version: str, reason: str) -> None:
        """Remember a refused model, and store the state."""
        self.refused.pop(sha256, None)
        self.refused[sha256] = {"version": version, "reason": reason}
        for oldest in list(self.refused)[:-MAX_REFUSED]:
            del self.refused[oldest]
        if self.accepted == sha256:
            self.accepted = ""
        self.save()

    def accept(self, sha256: str) -> None:
        """Remember the model that passed its probation, and store the state."""
        self.accepted = sha256
        self.save()

    def save(self) -> None:
        """Store the state in one step. Raises ``OSError``."""
        content = {"refused": self.refused, "accepted": self.accepted, "min_counter": self.min_counter}
        replace_file(self.path, json.dumps(content, indent=1).encode())


def load_state(path: Path) -> ClientState:
    """Return the state in the file ``path``; an empty one if there is no file or if it is damaged."""
    try:
        content: Any = json.loads(path.read_bytes())
        refused = {
            str(sha256): {"version": str(entry["version"]), "reason": str(entry["reason"])}
            for sha256, entry in content["refused"].items()
        }
        counters = {str(name): int(counter) for name, counter in content["min_counter"].items()}
        return ClientState(path, refused, str(content["accepted"]), counters)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ClientState(path)
