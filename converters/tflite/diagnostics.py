"""The reader's messages: descriptions of locations in a model, errors, and the list of repairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arenite.errors import ModelError, UnsupportedModelError

_HINT = "The file is damaged or was written by a faulty converter: convert the model again."


def quoted(name: str) -> str:
    """Return ``name`` in quotes, on one line and shortened to 80 characters."""
    text = "".join(c if c.isprintable() else "?" for c in name[:80])
    return f"'{text}…'" if len(name) > 80 else f"'{text}'"


def tensor_at(subgraph: int, index: int, name: str) -> str:
    """Return a description of a tensor's location: "Subgraph 0, tensor 12 'conv/bias'"."""
    return f"Subgraph {subgraph}, tensor {index}" + (f" {quoted(name)}" if name else "")


def op_at(subgraph: int, index: int, name: str) -> str:
    """Return a description of an operator's location: "Subgraph 0, operator 3 (CONV_2D)"."""
    return f"Subgraph {subgraph}, operator {index} ({name})"


def malformed(location: str, field: str, problem: str, hint: str = _HINT) -> ModelError:
    """Return the error "LOCATION, field FIELD: PROBLEM."."""
    return ModelError(f"{location}, field {field}: {problem}.", hint)


def unsupported(location: str, field: str, problem: str, hint: str) -> UnsupportedModelError:
    """Return an error of the same form as ``malformed`` for a well-formed model that Arenite does not support."""
    return UnsupportedModelError(f"{location}, field {field}: {problem}.", hint)


class Repairs:
    """Collects the repairs of a model, and describes them in one sentence per kind of repair, with the first location
    as an example."""

    def __init__(self) -> None:
        self._repairs: dict[str, list[Any]] = {}  # kind: [count, first location, sentence]

    def add(self, kind: str, location: str, sentence: Callable[[int, str], str]) -> None:
        """Record one repair at ``location``. ``sentence(number of repairs, first location)`` returns the sentence for
        all repairs of this ``kind``."""
        self._repairs.setdefault(kind, [0, location, sentence])[0] += 1

    def sentences(self) -> tuple[str, ...]:
        """Return one sentence for each kind of repair that was recorded."""
        return tuple(sentence(count, location) for count, location, sentence in self._repairs.values())
