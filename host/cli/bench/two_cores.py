"""The estimated gain of two cores, as a line for people."""

from __future__ import annotations

from typing import Any


def two_cores_line(prediction: dict[str, Any] | None) -> list[str]:
    """Return one line about the split, or nothing for a single core."""
    if prediction is None:
        return []
    cut = sum(row["cut"] for row in prediction["layers"])
    return [
        f"two cores: {cut} of {len(prediction['layers'])} layers cut into halves, "
        f"{100 * prediction['serial_share']:.1f} % of the work is serial; "
        f"estimated speed-up {prediction['speedup']['value']:.2f}"
    ]
