"""The published rates of language models agree with the predictions and with the page."""

from __future__ import annotations

import pytest

from arenite.host.llm.speed import BANDWIDTH, DECODE_COMPUTE, PREFILL_COMPUTE
from benchmarks.language_models.__main__ import main
from benchmarks.language_models.published import published_runs
from benchmarks.language_models.ranges import (
    bandwidth_ranges,
    decode_compute_range,
    is_held_by_others,
    prefill_range,
)

RUNS = published_runs()


def test_the_constants_are_those_of_the_runs() -> None:
    computed = {
        **bandwidth_ranges(RUNS),
        "decode": decode_compute_range(RUNS),
        "prefill": prefill_range(RUNS),
    }
    stored = {**BANDWIDTH, "decode": DECODE_COMPUTE, "prefill": PREFILL_COMPUTE}
    for name, reached in computed.items():
        assert stored[name].low == pytest.approx(reached.low, rel=0.01), name
        assert stored[name].high == pytest.approx(reached.high, rel=0.01), name


def test_every_run_is_held_and_most_by_the_others() -> None:
    assert len([run for run in RUNS if run.source.startswith("https://")]) >= 12
    assert [(run.host.name, run.name) for run in RUNS if not run.is_held] == []
    assert sum(is_held_by_others(run, RUNS) for run in RUNS) >= 0.8 * len(RUNS)


#: Numbers of parameters that publishers give in their models' cards, in millions.
@pytest.mark.parametrize(
    ("name", "millions"),
    [("smollm2-135m", 135), ("llama-3.2-1b", 1240), ("llama-3.2-3b", 3210),
     ("llama-3.1-8b", 8030), ("llama-2-7b", 6740), ("llama-2-13b", 13_000), ("smollm2-1.7b", 1710),
     ("qwen2.5-0.5b", 490), ("qwen2.5-1.5b", 1540), ("qwen2.5-3b", 3090), ("qwen1.5-1.8b", 1840), ("gemma-2-2b", 2610),
     ("phi-3-mini", 3820), ("phi-3.5-mini", 3820)],
)  # fmt: skip
def test_an_architecture_has_the_published_number_of_parameters(name: str, millions: float) -> None:
    parameters = {run.name: run.model.parameters for run in RUNS}
    assert parameters[name] / 1e6 == pytest.approx(millions, rel=0.01)


def test_the_page_is_up_to_date() -> None:
    assert main(["--check"]) == 0
