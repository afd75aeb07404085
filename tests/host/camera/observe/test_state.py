"""Tests that the dashboard's page, the metrics and the timeline understand the state that the governor reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from arenite.host.camera.observe.history import History
from arenite.host.camera.observe.loop_state import GovernorState, LeverState
from arenite.host.camera.observe.metrics import Metrics
from arenite.host.camera.observe.timeline import Timeline
from arenite.host.governor.governor import Governor
from arenite.host.governor.interface import Limits, Observation
from arenite.host.governor.levers import fps_lever
from tests.host.camera.observe.trace_events import read


def governed() -> dict[str, Any]:
    """Return the state of a governor that had to act: the device draws 12 W at a limit of 5 W."""
    rates: list[float] = []
    governor = Governor(
        Limits(power_w=5.0, temperature_c=70.0), [fps_lever(30.0, lambda r: rates.append(float(r)))]
    )
    for t in range(30):
        watts = 2.0 + (rates[-1] if rates else 30.0) / 3
        governor.step(Observation(float(t), rates[-1] if rates else 30.0, 20.0, watts, 50.0 + t / 10, 80.0))
    return governor.state()


def test_the_governors_own_state_is_understood(tmp_path: Path) -> None:
    governor_state = governed()
    assert set(GovernorState.__annotations__) <= set(governor_state)
    assert governor_state["log"] and all(
        set(lever) == set(LeverState.__annotations__) for lever in governor_state["levels"]
    )
    state = json.loads(json.dumps({"ready": True, "t_s": 30.0, "governor": governor_state}))
    metrics = Metrics()
    metrics.update(state)
    text = metrics.text()
    assert f'arenite_camera_governor_actions_total{{lever="fps"}} {len(governor_state["log"])}\n' in text
    assert (
        'arenite_camera_governor_level{lever="fps"} ' in text
        and "arenite_camera_governor_target_watts" in text
    )
    assert History().new_actions(state) == state["governor"]["log"]
    timeline = Timeline(tmp_path / "t.json")
    timeline.update(state)
    timeline.close()
    trace_actions = [e for e in read((tmp_path / "t.json").read_text()) if e.get("cat") == "governor"]
    assert [e["args"]["reason"] for e in trace_actions] == [a["reason"] for a in governor_state["log"]]
