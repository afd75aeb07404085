"""Plans of the reference models have the smallest arena of all orders of the operators. No arena is larger than that of
another runtime."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arenite.firmware.generator.target import Target
from arenite.host.build.prepare import prepare
from tests.development_models import SHARED

BASELINE = SHARED / "baseline.json"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not BASELINE.exists(), reason=f"{BASELINE} does not exist"),
]

#: Arena in bytes of each model: the tensors that are live at the largest operator, whose kernel needs no scratch.
ARENAS = {"ad01": 768, "ic01": 49152, "kws01": 16000, "person_detect": 55296, "sww01": 6656, "vww01": 55296}


def model(name: str) -> Path:
    """Return the path of a reference model."""
    return SHARED / "models" / f"{name}_int8.tflite"


@pytest.mark.parametrize("name", ARENAS)
def test_the_arena_is_optimal_and_not_larger_than_in_other_runtimes(name: str) -> None:
    plan = prepare(model(name)).retarget(Target.for_core("cortex-m3", "flash")).plan
    assert plan.status == "optimal" and plan.order_proven
    assert plan.arena_bytes == plan.lower_bound == plan.statistics.graph_bound == ARENAS[name]
    assert plan.arena_bytes <= smallest_other_arena(name)


@pytest.mark.parametrize("core", ["cortex-m4f", "cortex-m55"])
@pytest.mark.parametrize("name", ARENAS)
def test_the_arena_with_scratch_of_fast_kernels_is_not_larger_than_in_other_runtimes(
    name: str, core: str
) -> None:
    prepared = prepare(model(name))
    fast, small = (
        prepared.retarget(Target.for_core(core, mode)).plan.arena_bytes for mode in ("speed", "ram")
    )
    assert small <= fast <= smallest_other_arena(name)


def smallest_other_arena(name: str) -> int:
    """Return the smallest arena in bytes that the baseline records have for a model in other runtimes."""
    records = json.loads(BASELINE.read_text())["records"]
    return min(r["arena_bytes"] for r in records if r["model"] == f"{name}_int8")
