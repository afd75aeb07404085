"""The reference models: plans that reach the bound of every order, in no more than the competitor's arena."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arenite.host.prepare import prepare
from tests.shared import SHARED

BASELINE = SHARED / "baseline.json"

pytestmark = pytest.mark.skipif(not BASELINE.exists(), reason=f"{BASELINE} is not there")

#: Bytes of the tensors that live at once at the widest operator. No kernel of these models needs scratch there.
ARENAS = {"ad01": 768, "ic01": 49152, "kws01": 16000, "person_detect": 55296, "sww01": 6656, "vww01": 55296}


def model(name: str) -> Path:
    return SHARED / "models" / f"{name}_int8.tflite"


@pytest.mark.parametrize("name", ARENAS)
def test_the_bound_is_reached_below_the_competitor(name: str) -> None:
    plan = prepare(model(name)).plan
    assert plan.status == "optimal" and plan.order_proven
    assert plan.arena_bytes == plan.lower_bound == plan.statistics.graph_bound == ARENAS[name]
    records = json.loads(BASELINE.read_text())["records"]
    assert plan.arena_bytes <= min(r["arena_bytes"] for r in records if r["model"] == f"{name}_int8")
