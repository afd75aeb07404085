"""The benchmark of budgets runs every scenario, and pauses cost less than what they save."""

from __future__ import annotations

import json

import pytest

from benchmarks.language_models.budget import SCENARIOS, main


@pytest.mark.slow
def test_power_limits_are_kept_on_all_simulated_computers(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--json", "--minutes", "2"])
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert len(runs) == len(SCENARIOS)
    for run in runs:
        if run["limits"]["power_w"] is not None:
            assert run["kept"] and run["free_w"] > run["limits"]["power_w"] and run["pauses"] > 0
