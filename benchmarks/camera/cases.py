"""The models of the benchmark, and what each must reach."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from arenite.models.zoo import fetch

#: The folder of the development models, which are not part of the project; the zoo has a model of the same network.
SHARED = Path(__file__).parents[3] / "shared" / "models"


@dataclass(frozen=True)
class Case:
    """``overhead``: the largest time outside invoke, as a part of invoke; ``speedup``: the smallest speed-up over the
    baseline loop. None: there is no target."""

    name: str
    title: str
    path: Path
    kind: str  # classes or faces
    overhead: float | None
    speedup: float

    def model_argument(self) -> str:
        """Return the names that ``--model`` takes."""
        return str(self.path)


def cases() -> tuple[Case, ...]:
    """Fetches the zoo's models where they are not in the cache. Raises ``ToolError``."""
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
