"""What an image says of its making, as one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arenite.host.build.attachments import MADE_FROM


def made_from_sentence(extra: Mapping[str, Any]) -> str | None:
    """Of the image's ``extra``, which any tool may have written: what it does not hold is left out. None without."""
    made = _table(extra.get(MADE_FROM))
    if not made:
        return None
    source = str(made.get("kind") or "unknown kind of model")
    if made.get("sha256"):
        source += f" {str(made['sha256'])[:16]}…"
    versions = ", ".join(f"{k} {v}" for k, v in _table(made.get("versions")).items())
    parts = [f"made from {source}" + (f" ({versions})" if versions else "")]
    recipe = _table(made.get("recipe"))
    if recipe:
        parts.append(f"recipe {recipe.get('name', '?')}")
    calibration = _table(made.get("calibration"))
    if calibration:
        parts.append(
            f"calibrated with {calibration.get('samples', '?')} samples {str(calibration.get('sha256', ''))[:16]}…"
        )
    return ", ".join(parts)


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
