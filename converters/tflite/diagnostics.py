"""Diagnostics of the reader: locations in a model, errors about them, and the list of its repairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arenite.errors import ModelError, UnsupportedModelError

_HINT = "The file is damaged or was written by a faulty converter: convert the model again."


def quoted(name: str) -> str:
    """``name`` in quotes, on one line and shortened."""
    shown = "".join(c if c.isprintable() else "?" for c in name[:80])
    return f"'{shown}…'" if len(name) > 80 else f"'{shown}'"


def tensor_at(subgraph: int, index: int, name: str) -> str:
    """ "Subgraph 0, tensor 12 'conv/bias'"."""
    return f"Subgraph {subgraph}, tensor {index}" + (f" {quoted(name)}" if name else "")


def op_at(subgraph: int, index: int, name: str) -> str:
    """ "Subgraph 0, operator 3 (CONV_2D)"."""
    return f"Subgraph {subgraph}, operator {index} ({name})"


def malformed(location: str, field: str, problem: str, hint: str = _HINT) -> ModelError:
    """Return the error "PLACE, field FIELD: PROBLEM."."""
    return ModelError(f"{location}, field {field}: {problem}.", hint)


def unsupported(location: str, field: str, problem: str, hint: str) -> UnsupportedModelError:
    """Like ``malformed`` for a model that is well-formed but that Arenite does not run."""
    return UnsupportedModelError(f"{location}, field {field}: {problem}.", hint)


class Repairs:
    """Collects repairs and reports them in one sentence per kind, with the first location as the example."""

    def __init__(self) -> None:
        self._found: dict[str, list[Any]] = {}  # kind: [count, first location, sentence]

    def add(self, kind: str, location: str, sentence: Callable[[int, str], str]) -> None:
        """Note one repair; ``sentence(count, first location)`` reports all repairs of its ``kind`` together."""
        self._found.setdefault(kind, [0, location, sentence])[0] += 1

    def sentences(self) -> tuple[str, ...]:
        return tuple(sentence(count, location) for count, location, sentence in self._found.values())


def count_of(count: int, noun: str) -> str:
    """ "1 tensor", "3 tensors"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
