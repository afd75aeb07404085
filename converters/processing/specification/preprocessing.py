"""Read and write preprocessing: the record ``preprocessing`` of a model image, whose steps run on the host and on
devices.

A record has a source and a list of steps. It is read from the model image's JSON or from a TOML file of the same
structure, and checked when it is read. It holds only numbers and names. The NumPy reference, the C library and the
generator compute their tables from it.
"""

from __future__ import annotations

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
from arenite.input_files import parse_json, parse_toml, read_text

if TYPE_CHECKING:
    from types import ModuleType

    from arenite.converters.processing.specification.audio_steps import AudioSource, AudioStep
    from arenite.converters.processing.specification.imu_steps import ImuSource, ImuStep

SCHEMA = "arenite.preprocessing/1"
#: The key of the record in ``extra`` of a model image.
KEY = "preprocessing"


@dataclass(frozen=True)
class Normalize:
    """Compute real = (value / divide - mean) / std in single precision. ``mean`` and ``std`` have one value, or one per
    channel."""

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
    """Compute stored = round(real / scale) + zero_point, clipped to the range of ``dtype``, like LiteRT's QUANTIZE."""

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


_IMAGE_STEPS: tuple[type, ...] = (Colour, Crop, Resize, Letterbox)
_FINAL_STEPS: tuple[type, ...] = (Normalize, Quantize)


def _sound() -> ModuleType:
    """Import the steps of sound. They are imported late to shorten the time to a camera's first answer."""
    from arenite.converters.processing.specification import audio_steps

    return audio_steps


def _motion() -> ModuleType:
    """Import the steps of motion sensors."""
    from arenite.converters.processing.specification import imu_steps

    return imu_steps


@dataclass(frozen=True)
class Preprocessing:
    """A source, and the steps from it to the model's input."""

    source: ImageSource | AudioSource | ImuSource
    steps: tuple[Colour | Crop | Resize | Letterbox | AudioStep | ImuStep | Normalize | Quantize, ...]

    def __post_init__(self) -> None:
        order = [type(step) for step in self.steps]
        body = list(order)
        tail: list[type] = []
        while body and body[-1] in _FINAL_STEPS:
            tail.insert(0, body.pop())
        if tail not in ([], [Normalize], [Quantize], [Normalize, Quantize]):
            raise record_error(
                "normalise and quantise must be the last steps: at most one normalise, then at most one quantise."
            )
        source = self.source.kind
        allowed = (
            _IMAGE_STEPS if source == "image" else _sound().STEPS if source == "audio" else _motion().STEPS
        )
        for kind in body:
            if kind not in allowed:
                names = ", ".join(k.do for k in (*allowed, *_FINAL_STEPS))
                raise record_error(
                    f"The step '{kind.do}' is not allowed here. The steps for {source} are {names}; "
                    "normalise and quantise must be the last steps."
                )
        if source == "audio":
            _sound().check_audio_order(body)
        elif source == "imu":
            _motion().check_imu_order(body)
        elif sum(kind in (Resize, Letterbox) for kind in body) > 1:
            raise record_error("A picture can be resized only once.")

    @property
    def quantize_step(self) -> Quantize | None:
        last = self.steps[-1] if self.steps else None
        return last if isinstance(last, Quantize) else None

    @property
    def real(self) -> Preprocessing:
        """This preprocessing without its quantize step. Its result is float32."""
        return self if self.quantize_step is None else replace(self, steps=self.steps[:-1])

    def bound(self, tensor: Tensor) -> Preprocessing:
        """Return this preprocessing with the quantization of the input ``tensor``, or without a quantize step if it is
        float32.

        Raises ``UsageError`` for an input of another type.
        """
        if tensor.dtype == "float32":
            return self.real
        if tensor.dtype not in ("int8", "uint8", "int16") or tensor.quant is None or tensor.quant.per_axis:
            raise UsageError(
                f"Preprocessing cannot fill the input '{tensor.name}', which is {tensor.dtype}.",
                "Use an input of type float32, or of type int8, uint8 or int16 quantized per tensor.",
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
        """Read a record that ``to_json`` returned or a user wrote. Raises ``UsageError`` with the name of the wrong
        step and field."""
        source, steps = record_parts(record, SCHEMA, location, ("source",))
        if not isinstance(source["source"], Mapping):
            raise record_error(f"{location}, source: is missing or not a table.")
        fields = dict(source["source"])
        kind = fields.pop("kind", None)
        if kind not in ("image", "audio", "imu"):
            raise record_error(f"{location}, source, kind: is {kind!r}, expected one of image, audio, imu.")
        kinds = (*_IMAGE_STEPS, *_FINAL_STEPS)
        if kind != "image" or any(
            isinstance(step, Mapping) and all(step.get("do") != k.do for k in kinds)  # type: ignore[attr-defined]
            for step in steps
        ):
            kinds = (*_IMAGE_STEPS, *_sound().STEPS, *_motion().STEPS, *_FINAL_STEPS)
        kind_of_name = {k.do: k for k in kinds}  # type: ignore[attr-defined]
        source_class = (
            ImageSource
            if kind == "image"
            else _sound().AudioSource
            if kind == "audio"
            else _motion().ImuSource
        )
        source_step = build_record(source_class, fields, f"{location}, source")
        return Preprocessing(source_step, tuple(steps_from_records(steps, kind_of_name, location)))


def record_parts(
    record: Any, schema: str, location: str, more: tuple[str, ...]
) -> tuple[dict[str, Any], list[Any]]:
    """Return the values of the keys ``more`` and the list of steps of a record. Raises ``UsageError`` for other keys
    and for a record that states another schema than ``schema``."""
    if not isinstance(record, Mapping):
        raise record_error(f"{location}: is not a table.")
    if record.get("schema", schema) != schema:
        raise UsageError(
            f"{location}: has schema {str(record['schema'])[:60]!r}, expected {schema!r}.",
            "It may come from another version of Arenite.",
        )
    for name in record:
        if name not in ("schema", "steps", *more):
            raise record_error(
                f"{location}: has the unknown key '{name}', expected {', '.join((*more, 'steps'))}."
            )
    steps: Any = record.get("steps", [])
    if not isinstance(steps, list):
        raise record_error(f"{location}, steps: is not a list.")
    return {name: record.get(name) for name in more}, steps


def steps_from_records(records: list[Any], kind_of_name: Mapping[str, type], location: str) -> list[Any]:
    """Convert each record to an object of the dataclass that its field ``do`` names. Raises ``UsageError`` if a
    record is wrong. ``kind_of_name`` has the dataclasses by name."""
    steps: list[Any] = []
    for k, record in enumerate(records):
        step_location = f"{location}, step {k + 1}"
        if not isinstance(record, Mapping):
            raise record_error(f"{step_location}: is not a table.")
        fields = dict(record)
        do = fields.pop("do", None)
        if not isinstance(do, str) or do not in kind_of_name:
            raise record_error(f"{step_location}: do is {do!r}, expected one of {', '.join(kind_of_name)}.")
        steps.append(build_record(kind_of_name[do], fields, f"{step_location} ({do})"))
    return steps


def read_record(path: str | Path) -> Mapping[str, Any]:
    """Return the content of a TOML or JSON file. Raises ``UsageError`` if it cannot be read."""
    path = Path(path)
    try:
        text = read_text(path)
        return parse_json(text) if path.suffix == ".json" else parse_toml(text)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"Cannot read {path}: {reason}.", "Give a TOML or JSON file.") from error


def load_preprocessing(path: str | Path) -> Preprocessing:
    """Read preprocessing from a file, which contains only the record, or has it under the key ``preprocessing``. Raises
    ``UsageError`` if the file cannot be read or the record is wrong."""
    record = read_record(path)
    return Preprocessing.from_json(
        record.get(KEY, record) if isinstance(record, Mapping) else record, str(path)
    )
