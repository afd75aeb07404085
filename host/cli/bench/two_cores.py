"""Describe the estimated speed-up of a second core in one line."""

from __future__ import annotations

from typing import Any


def two_cores_line(prediction: dict[str, Any] | None) -> list[str]:
    """Return a list with one line about the work of both cores. Return an empty list if all layers run on one core.
    ``prediction`` is the result of ``predicted_split``."""
    if prediction is None:
        return []
    cut = sum(row["cut"] for row in prediction["layers"])
    return [
        f"two cores: {cut} of {len(prediction['layers'])} layers are cut into halves, "
        f"{100 * prediction['serial_share']:.1f} % of the work is serial; "
        f"estimated speed-up {prediction['speedup']['value']:.2f}"
    ]
