"""What a repository says about a model: its version, its kind, its counters, its length and its hash."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from arenite.errors import UsageError

#: The key of Arenite's properties in the custom metadata of a target.
KEY = "arenite"
#: Maps the kind of a model to the suffix of its file. An image is a TFLite file that Arenite planned, and a model for
#: web pages is the description of its WebAssembly modules, which are targets of their own.
SUFFIXES = {"tflite": ".tflite", "image": ".tflite", "onnx": ".onnx", "web": ".json"}
MAX_COUNTER = 2**32 - 1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}")


@dataclass(frozen=True)
class ModelTarget:
    """A model in a repository. All fields are signed.

    ``counter`` rises with every version. Clients that have seen ``min_counter`` refuse every model with a lower
    counter, so that a version with a known mistake cannot be offered again. Raises ``UsageError`` for values that no
    target can have.
    """

    name: str
    version: str
    kind: str  # a key of ``SUFFIXES``
    counter: int
    min_counter: int
    length: int  # bytes
    sha256: str

    def __post_init__(self) -> None:
        check_name(self.name)
        if not _VERSION.fullmatch(self.version):
            raise UsageError(
                f"'{self.version}' is not a version.", "Give letters, digits, dots and +, such as 1.2.0."
            )
        if self.kind not in SUFFIXES:
            raise UsageError(f"'{self.kind}' is not a kind of model.", f"Give {', '.join(SUFFIXES)}.")
        if not 0 <= self.min_counter <= self.counter <= MAX_COUNTER:
            raise UsageError(
                f"The counter is {self.counter} and the lowest counter {self.min_counter}, expected "
                f"0 <= lowest counter <= counter <= {MAX_COUNTER}.",
                "Give a higher counter, or a lower minimum.",
            )

    @property
    def file_name(self) -> str:
        """The name of the file in the cache of a client."""
        return self.sha256 + SUFFIXES[self.kind]

    def custom(self) -> dict[str, Any]:
        """Return the custom metadata of the target."""
        return {
            KEY: {
                "version": self.version,
                "kind": self.kind,
                "counter": self.counter,
                "min_counter": self.min_counter,
            }
        }

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "version": self.version,
            "kind": self.kind,
            "counter": self.counter,
            "min_counter": self.min_counter,
            "length": self.length,
            "sha256": self.sha256,
        }


def check_name(name: str) -> None:
    """Raise ``UsageError`` if no model in a repository can have the name ``name``."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"'{name}' is not a name of a model in a repository.",
            "Give 1 to 128 letters, digits, dots, hyphens and underscores, such as blazeface. The first is a letter or "
            "a digit.",
        )


def target_from_custom(name: str, length: int, sha256: str | None, custom: object) -> ModelTarget:
    """Return the target with the custom metadata ``custom``. Raises ``UsageError`` if a property is missing or
    wrong."""
    properties = custom.get(KEY) if isinstance(custom, dict) else None
    if not isinstance(properties, dict) or sha256 is None:
        raise UsageError(
            f"The target {name} is not a model that Arenite published: it has no properties or no SHA-256.",
            "Add it with `arenite update repository add`.",
        )
    kinds = {"version": str, "kind": str, "counter": int, "min_counter": int}
    for key, kind in kinds.items():
        if type(properties.get(key)) is not kind:
            raise UsageError(
                f"The property {key} of the target {name} is {properties.get(key)!r}.",
                "Add the model again with `arenite update repository add`.",
            )
    return ModelTarget(name, length=length, sha256=sha256, **{key: properties[key] for key in kinds})
