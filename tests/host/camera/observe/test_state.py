"""What the governor tells is what the page, the metrics and the timeline read."""

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
    """A governor that had to act: 12 W where 5 are allowed."""
    rates: list[float] = []
    governor = Governor(
        Limits(power_w=5.0, temperature_c=70.0), [fps_lever(30.0, lambda r: rates.append(float(r)))]
    )
    for t in range(30):
        watts = 2.0 + (rates[-1] if rates else 30.0) / 3
        governor.step(Observation(float(t), rates[-1] if rates else 30.0, 20.0, watts, 50.0 + t / 10, 80.0))
    return governor.state()


def test_the_governors_own_state_is_understood(tmp_path: Path) -> None:
    found = governed()
    assert set(GovernorState.__annotations__) <= set(found)
    assert found["log"] and all(set(lever) == set(LeverState.__annotations__) for lever in found["levels"])
    state = json.loads(json.dumps({"ready": True, "t_s": 30.0, "governor": found}))
    metrics = Metrics()
    metrics.update(state)
    text = metrics.text()
    assert f'arenite_camera_governor_actions_total{{lever="fps"}} {len(found["log"])}\n' in text
    assert (
        'arenite_camera_governor_level{lever="fps"} ' in text
        and "arenite_camera_governor_target_watts" in text
    )
    assert History().new_actions(state) == state["governor"]["log"]
    timeline = Timeline(tmp_path / "t.json")
    timeline.update(state)
    timeline.close()
    drawn = [e for e in read((tmp_path / "t.json").read_text()) if e.get("cat") == "governor"]
    assert [e["args"]["reason"] for e in drawn] == [a["reason"] for a in found["log"]]
