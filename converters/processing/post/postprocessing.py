"""Read and write postprocessing: the record ``postprocessing`` of a model image, with the steps that convert outputs to
answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from arenite.converters.processing.specification.preprocessing import (
    read_record,
    record_parts,
    steps_from_records,
)
from arenite.converters.processing.specification.record_fields import record_error, record_of

if TYPE_CHECKING:
    from arenite.converters.processing.post.detector_steps import Detections, Yolo
    from arenite.converters.processing.post.landmark_mask_steps import Mask, Points
    from arenite.converters.processing.post.steps import Boxes, Mse, Nms, TopK

SCHEMA = "arenite.postprocessing/1"
#: The key of the record in ``extra`` of a model image.
KEY = "postprocessing"


class _LazyStepClasses(Mapping[str, type]):
    """The step classes by name. Each class is imported when it is first used, so that a camera starts faster."""

    _PLACES: ClassVar[dict[str, tuple[str, str]]] = {
        "top_k": ("steps", "TopK"),
        "boxes": ("steps", "Boxes"),
        "yolo": ("detector_steps", "Yolo"),
        "detections": ("detector_steps", "Detections"),
        "nms": ("steps", "Nms"),
        "points": ("landmark_mask_steps", "Points"),
        "mask": ("landmark_mask_steps", "Mask"),
        "mse": ("steps", "Mse"),
    }

    def __getitem__(self, name: str) -> type:
        module, kind = self._PLACES[name]
        step_class = getattr(import_module(f"arenite.converters.processing.post.{module}"), kind)
        assert isinstance(step_class, type)
        return step_class

    def __contains__(self, name: object) -> bool:
        return name in self._PLACES

    def __iter__(self) -> Iterator[str]:
        return iter(self._PLACES)

    def __len__(self) -> int:
        return len(self._PLACES)


STEP_CLASSES = _LazyStepClasses()


@dataclass(frozen=True)
class Postprocessing:
    """The steps of a postprocessing: one step (``top_k``, ``detections``, ``points``, ``mask`` or ``mse``), or two
    (``boxes`` or ``yolo``, then ``nms``)."""

    steps: tuple[TopK | Boxes | Yolo | Detections | Nms | Points | Mask | Mse, ...]

    def __post_init__(self) -> None:
        names = [step.do for step in self.steps]
        if names not in ([[n] for n in ("top_k", "detections", "points", "mask", "mse")]) and names not in (
            ["boxes", "nms"],
            ["yolo", "nms"],
        ):
            steps = f"the steps {', '.join(names)}" if names else "no steps"
            raise record_error(
                f"Postprocessing has {steps}, expected one step (top_k, detections, points, mask or mse) or two"
                " (boxes or yolo, then nms)."
            )

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, "steps": [{"do": step.do, **record_of(step)} for step in self.steps]}

    @staticmethod
    def from_json(record: Any, location: str = "Postprocessing") -> Postprocessing:
        """Read a record that ``to_json`` returned or a user wrote. Raises ``UsageError`` with the name of the wrong
        step and field."""
        _, steps = record_parts(record, SCHEMA, location, ())
        return Postprocessing(tuple(steps_from_records(steps, STEP_CLASSES, location)))


def load_postprocessing(path: str | Path) -> Postprocessing:
    """Read postprocessing from a file, which contains only the record, or has it under the key ``postprocessing``.
    Raises ``UsageError`` if the file cannot be read or the record is wrong."""
    record = read_record(path)
    return Postprocessing.from_json(
        record.get(KEY, record) if isinstance(record, dict) else record, str(path)
    )
