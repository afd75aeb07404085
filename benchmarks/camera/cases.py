"""Define the models of the camera benchmark, with their targets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from arenite.models.zoo import fetch

#: The folder of the development models, which are not part of the project. Without it, a zoo model with the same
#: network is used.
SHARED = Path(__file__).parents[3] / "shared" / "models"


@dataclass(frozen=True)
class Case:
    """A model with its targets. ``overhead`` is the maximum of the time per frame outside of ``invoke``, divided by the
    time of ``invoke``, or None without such a target. ``speedup`` is the minimum speed-up over the baseline loop."""

    name: str
    title: str
    path: Path
    kind: str  # classes or faces
    overhead: float | None
    speedup: float

    def model_argument(self) -> str:
        """Return the argument for ``--model``."""
        return str(self.path)


def cases() -> tuple[Case, ...]:
    """Return all cases. Zoo models that are not in the cache are downloaded. Raises ``ToolError`` if a download
    fails."""
    return (
        Case("vww", "VWW int8 96x96", _vww(), "classes", 0.35, 6.0),
        Case("blazeface", "BlazeFace f32 128x128", fetch("face_detection_short_range"), "faces", 0.12, 2.6),
        Case(
            "efficientnet",
            "EfficientNet-lite0 int8 224x224",
            fetch("efficientnet_lite0"),
            "classes",
            None,
            1.35,
        ),
    )


def _vww() -> Path:
    own = SHARED / "vww01_int8.tflite"
    return own if own.is_file() else fetch("visual_wake_words")
