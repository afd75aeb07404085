"""Compare the bench results of two runs."""

from __future__ import annotations

from typing import Any

import pytest


def assert_same(first_result: dict[str, Any], second_result: dict[str, Any]) -> None:
    """Check that all figures are equal; figures that a timer measured may differ by its tick."""
    for key in ("memory", "flash"):
        assert first_result[key] == second_result[key], key
    # A board on a port has no emulator, even if a program at the other end of the cable emulates it.
    first, second = ({**result["build"], "emulator": None} for result in (first_result, second_result))
    assert first == second
    assert first_result["inference"]["instructions"] == pytest.approx(
        second_result["inference"]["instructions"], abs=2
    )
    assert first_result["init"]["instructions"] == pytest.approx(second_result["init"]["instructions"], abs=2)
    for first_layer, second_layer in zip(first_result["layers"], second_result["layers"], strict=True):
        assert first_layer["instructions"] == pytest.approx(second_layer["instructions"], abs=2)
