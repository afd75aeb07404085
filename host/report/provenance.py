"""Describe the origin of an image in one sentence: the source model, and how it was converted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arenite.host.build.attachments import MADE_FROM


def made_from_sentence(extra: Mapping[str, Any]) -> str | None:
    """Return a sentence on the origin that the image's metadata ``extra`` records, or None if it records no origin.

    Any tool may have written ``extra``, so every entry may be missing.
    """
    origin = _table(extra.get(MADE_FROM))
    if not origin:
        return None
    source = str(origin.get("kind") or "unknown kind of model")
    if origin.get("sha256"):
        source += f" {str(origin['sha256'])[:16]}…"
    versions = ", ".join(f"{k} {v}" for k, v in _table(origin.get("versions")).items())
    parts = [f"made from {source}" + (f" ({versions})" if versions else "")]
    recipe = _table(origin.get("recipe"))
    if recipe:
        parts.append(f"recipe {recipe.get('name', '?')}")
    calibration = _table(origin.get("calibration"))
    if calibration:
        parts.append(
            f"calibrated with {calibration.get('samples', '?')} samples {str(calibration.get('sha256', ''))[:16]}…"
        )
    return ", ".join(parts)


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
