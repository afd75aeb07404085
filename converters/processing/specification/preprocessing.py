"""Preprocessing as data: the record ``preprocessing`` of an image, which host and device run.

A record is a source and a list of steps. It is read from the image's JSON or from a TOML file of the same structure,
checked when it is read, and holds only numbers and names: the NumPy reference, the C library and the generator each
make their tables from it.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from arenite.converters.graph.tensor import Tensor
from arenite.converters.processing.specification.image_steps import (
    Colour,
    Crop,
    ImageSource,
    Letterbox,
    Resize,
)
from arenite.converters.processing.specification.record_fields import (
    build_record,
    check_one_of,
    check_within,
    record_error,
    record_of,
)
from arenite.errors import UsageError

if TYPE_CHECKING:
    from types import ModuleType

    from arenite.converters.processing.specification.audio_steps import AudioSource, AudioStep

SCHEMA = "arenite.preprocessing/1"
#: The key of an image's ``extra``.
KEY = "preprocessing"


@dataclass(frozen=True)
class Normalize:
    """real = (value / divide - mean) / std, in single precision; ``mean`` and ``std`` one, or one per channel."""

    do: ClassVar[str] = "normalise"
    divide: float = 1.0
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        if self.divide <= 0 or any(s <= 0 for s in self.std):
            raise record_error("Normalise: divide and std must be above 0.")
        for name, values in (("mean", self.mean), ("std", self.std)):
            if len(values) not in (1, 3):
                raise record_error(f"Normalise: {name} has {len(values)} values, expected 1 or 3.")


@dataclass(frozen=True)
class Quantize:
    """stored = real / scale rounded + zero_point, clipped to the range of ``dtype``, as LiteRT's QUANTIZE does."""

    do: ClassVar[str] = "quantise"
    dtype: str
    scale: float
    zero_point: int = 0

    def __post_init__(self) -> None:
        check_one_of(self.dtype, ("int8", "uint8", "int16"), "Quantise: dtype")
        low, high = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}[self.dtype]
        check_within(self.zero_point, low, high, "Quantise: zero_point")
        if not 1e-30 < self.scale < 1e30:
            raise record_error(
                f"Quantise: scale is {self.scale:g}, expected a positive number from 1e-30 to 1e30."
            )


_IMAGE: tuple[type, ...] = (Colour, Crop, Resize, Letterbox)
_LAST: tuple[type, ...] = (Normalize, Quantize)


def _sound() -> ModuleType:
    """The steps of sound, imported when they are needed, which shortens the time to the first answer to a picture."""
    from arenite.converters.processing.specification import audio_steps

    return audio_steps


@dataclass(frozen=True)
class Preprocessing:
    """A source, and the steps from it to the model's input."""

    source: ImageSource | AudioSource
    steps: tuple[Colour | Crop | Resize | Letterbox | AudioStep | Normalize | Quantize, ...]

    def __post_init__(self) -> None:
        order = [type(step) for step in self.steps]
        body = list(order)
        tail: list[type] = []
        while body and body[-1] in _LAST:
            tail.insert(0, body.pop())
        if tail not in ([], [Normalize], [Quantize], [Normalize, Quantize]):
            raise record_error(
                "After all other steps comes at most one normalise, and then at most one quantise."
            )
        picture = isinstance(self.source, ImageSource)
        allowed = _IMAGE if picture else _sound().STEPS
        for kind in body:
            if kind not in allowed:
                names = ", ".join(k.do for k in (*allowed, *_LAST))
                raise record_error(
                    f"The step '{kind.do}' is not allowed here: for {self.source.kind} the steps are, "
                    f"normalise and quantise last, {names}."
                )
        if not picture:
            _sound().check_audio_order(body)
        elif sum(kind in (Resize, Letterbox) for kind in body) > 1:
            raise record_error("A picture can be resized once.")

    @property
    def quantize_step(self) -> Quantize | None:
        last = self.steps[-1] if self.steps else None
        return last if isinstance(last, Quantize) else None

    @property
    def real(self) -> Preprocessing:
        """The same without its quantize step: its result is float32."""
        return self if self.quantize_step is None else replace(self, steps=self.steps[:-1])

    def bound(self, tensor: Tensor) -> Preprocessing:
        """The same for the input ``tensor``: quantized as it is, or not at all when it is float32.

        Raises ``UsageError`` for an input of another type.
        """
        if tensor.dtype == "float32":
            return self.real
        if tensor.dtype not in ("int8", "uint8", "int16") or tensor.quant is None or tensor.quant.per_axis:
            raise UsageError(
                f"Preprocessing cannot fill the input '{tensor.name}', which is {tensor.dtype}.",
                "Inputs of type float32, int8, uint8 and int16, quantised per tensor, can be filled.",
            )
        step = Quantize(tensor.dtype, tensor.scale, tensor.zero_point)
        return replace(self, steps=(*self.real.steps, step))

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "source": {"kind": self.source.kind, **record_of(self.source)},
            "steps": [{"do": step.do, **record_of(step)} for step in self.steps],
        }

    @staticmethod
    def from_json(record: Any, location: str = "Preprocessing") -> Preprocessing:
        """Read back what ``to_json`` wrote, or a person. Raises ``UsageError`` naming step and field."""
        source, steps = record_parts(record, SCHEMA, location, ("source",))
        if not isinstance(source["source"], Mapping):
            raise record_error(f"{location}, source: is missing or not a table.")
        given = dict(source["source"])
        kind = given.pop("kind", None)
        if kind not in ("image", "audio"):
            raise record_error(f"{location}, source, kind: is {kind!r}, expected one of image, audio.")
        kinds = (*_IMAGE, *_LAST)
        if kind == "audio" or any(
            isinstance(step, Mapping) and all(step.get("do") != k.do for k in kinds)  # type: ignore[attr-defined]
            for step in steps
        ):
            kinds = (*_IMAGE, *_sound().STEPS, *_LAST)
        known = {k.do: k for k in kinds}  # type: ignore[attr-defined]
        source_step = build_record(
            ImageSource if kind == "image" else _sound().AudioSource, given, f"{location}, source"
        )
        return Preprocessing(source_step, tuple(steps_from_records(steps, known, location)))


def record_parts(
    record: Any, schema: str, location: str, more: tuple[str, ...]
) -> tuple[dict[str, Any], list[Any]]:
    """Return the keys ``more`` and the list of steps of a record whose schema, when it names one, is ``schema``."""
    if not isinstance(record, Mapping):
        raise record_error(f"{location}: is not a table.")
    if record.get("schema", schema) != schema:
        raise UsageError(
            f"{location}: has schema {str(record['schema'])[:60]!r}, expected {schema!r}.",
            "It may come from another version of Arenite.",
        )
    for name in record:
        if name not in ("schema", "steps", *more):
            raise record_error(f"{location}: does not take '{name}', but {', '.join((*more, 'steps'))}.")
    steps: Any = record.get("steps", [])
    if not isinstance(steps, list):
        raise record_error(f"{location}, steps: is not a list.")
    return {name: record.get(name) for name in more}, steps


def steps_from_records(records: list[Any], known: Mapping[str, type], location: str) -> list[Any]:
    """Return each record as the dataclass that its ``do`` names."""
    steps: list[Any] = []
    for k, record in enumerate(records):
        where = f"{location}, step {k + 1}"
        if not isinstance(record, Mapping):
            raise record_error(f"{where}: is not a table.")
        given = dict(record)
        do = given.pop("do", None)
        if not isinstance(do, str) or do not in known:
            raise record_error(f"{where}: do is {do!r}, expected one of {', '.join(known)}.")
        steps.append(build_record(known[do], given, f"{where} ({do})"))
    return steps


def read_record(path: str | Path) -> Mapping[str, Any]:
    """Return the table in a TOML or JSON file. Raises ``UsageError``."""
    path = Path(path)
    try:
        text = path.read_text("utf-8")
        return json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"Cannot read {path}: {reason}.", "Give a TOML or JSON file.") from error


def load_preprocessing(path: str | Path) -> Preprocessing:
    """Return the preprocessing in a file: the record itself, or a table ``preprocessing`` in it. Raises
    ``UsageError``."""
    record = read_record(path)
    return Preprocessing.from_json(
        record.get(KEY, record) if isinstance(record, Mapping) else record, str(path)
    )
