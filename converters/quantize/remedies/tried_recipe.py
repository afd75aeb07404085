"""A recipe that was tried because plain int8 may lose too much: its loss and its costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from arenite.converters.quantize.recipes.recipe import Recipe


@dataclass(frozen=True)
class ImageCost:
    """The costs of an image on a board. ``arena``, ``ram`` and ``flash`` are predicted bytes; ``instructions`` per
    inference are an estimate."""

    arena: int
    ram: int
    flash: int
    instructions: int


#: A function from a quantized flatbuffer to its costs. It raises ``AreniteError`` if no firmware can run the model.
ImageCostFunction = Callable[[bytes], ImageCost]


@dataclass(frozen=True)
class TriedRecipe:
    """A recipe with its loss and its costs.

    ``drop`` is the largest loss of an output as a fraction, and ``score`` the value of the first output's metric.
    ``samples`` is the number of samples on which they were measured. ``is_exact`` says whether that was done with the
    reference kernels, whose results are those of the firmware. ``int16_layers`` are the layers of the float model that
    the recipe gives int16 activations, None for all layers. If ``error`` is not None, no image could be built, and
    ``cost`` is None.
    """

    label: str
    recipe: Recipe
    sha256: str = ""  # hash of the quantized flatbuffer
    score: float = 0.0
    drop: float = float("inf")
    samples: int = 0
    is_exact: bool = False
    weight_bytes: int = 0
    cost: ImageCost | None = None
    int16_layers: tuple[int, ...] | None = ()
    error: str | None = None

    def meets(self, limit: float) -> bool:
        """Return whether the recipe gives an image that loses at most ``limit``."""
        return self.cost is not None and self.drop <= limit + 1e-12

    def to_json(self) -> dict[str, Any]:
        """Return the entry of the recipe in ``calibration.auto.tried`` of ``arenite.convert/1``."""
        cost = None
        if self.cost is not None:
            cost = {
                "arena": self.cost.arena,
                "ram": self.cost.ram,
                "flash": self.cost.flash,
                "instructions": {"value": self.cost.instructions, "kind": "estimated"},
            }
        return {
            "label": self.label,
            "recipe": self.recipe.to_json(),
            "score": None if self.error is not None else self.score,
            "drop": None if self.error is not None else self.drop,
            "samples": self.samples,
            "kernels": "reference" if self.is_exact else "fast",
            "weight_bytes": self.weight_bytes,
            "cost": cost,
            "int16_layers": None if self.int16_layers is None else list(self.int16_layers),
            "error": self.error,
        }
