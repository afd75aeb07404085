"""What two cores bring, as a line for people."""

from __future__ import annotations

from typing import Any


def two_cores_line(found: dict[str, Any] | None) -> list[str]:
    """One line; none where all runs on one core."""
    if found is None:
        return []
    cut = sum(row["cut"] for row in found["layers"])
    return [
        f"two cores: {cut} of {len(found['layers'])} layers cut into halves, {100 * found['serial_share']:.1f} % of "
        f"the work is serial; estimated speed-up {found['speedup']['value']:.2f}"
    ]
