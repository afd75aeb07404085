"""Compares the results of two runs."""

from __future__ import annotations

from typing import Any

import pytest


def assert_same(a: dict[str, Any], b: dict[str, Any]) -> None:
    """All figures; those that a clock gave to a tick, for it may start within one."""
    for key in ("memory", "flash", "build"):
        assert a[key] == b[key], key
    assert a["inference"]["instructions"] == pytest.approx(b["inference"]["instructions"], abs=2)
    assert a["init"]["instructions"] == pytest.approx(b["init"]["instructions"], abs=2)
    for first, second in zip(a["layers"], b["layers"], strict=True):
        assert first["instructions"] == pytest.approx(second["instructions"], abs=2)
