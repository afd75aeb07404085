"""Points for charts, and each of the governor's actions once."""

from __future__ import annotations

from arenite.host.camera.observe.history import FIELDS, POINTS, History
from tests.host.camera.dashboard.simulated_run import state_at


def test_points() -> None:
    history = History()
    for step in range(700):
        history.add(state_at(step), step / 2)
    assert len(history.points) == POINTS
    point = dict(zip(FIELDS, history.points[-1], strict=True))
    state = state_at(699)
    assert point["t"] == 349.5 and point["watts"] == round(state["power"]["value"], 4)
    assert point["invoke.p95"] == round(state["stage_ms"]["invoke"]["p95"], 4)
    # 7 of them between t = 0 and 28 s, at 2 points a second.
    assert sum(p[FIELDS.index("dropped")] or 0 for p in list(history.points)) == 2 * (699 // 8 - 99 // 8)


def test_what_is_unknown_is_none() -> None:
    point = dict(zip(FIELDS, History().add({}, 1.0), strict=True))
    assert point.pop("t") == 1.0 and set(point.values()) == {None}


def test_a_counter_that_starts_anew_is_no_negative_rate() -> None:
    history = History()
    history.add({"frames": {"dropped": 9}}, 1.0)
    assert history.add({"frames": {"dropped": 2}}, 2.0)[FIELDS.index("dropped")] == 0
    assert history.add({"frames": {"dropped": 5}}, 4.0)[FIELDS.index("dropped")] == 1.5
    assert history.add({"frames": {"dropped": 5}}, 4.0)[FIELDS.index("dropped")] is None


def test_the_frame_rate_is_of_the_last_seconds() -> None:
    history = History()
    fps = [
        history.add({"fps": 99.0, "frames": {"served": served}}, t)[FIELDS.index("fps")]
        for t, served in [(0.0, 0), (0.5, 15), (1.0, 30), (2.0, 60), (7.0, 70), (7.5, 71), (0.0, 0), (1.0, 7)]
    ]
    # Too short a time at first; then a mean, of 5 s at most; a gap leaves too short a time; then another run.
    assert fps == [99.0, 99.0, 30.0, 30.0, 2.0, 99.0, 99.0, 7.0]


def test_each_action_once_from_tails_that_overlap() -> None:
    history = History()
    actions = [{"t_s": k // 2, "lever": "fps", "from": k, "to": k + 1, "reason": "heat"} for k in range(20)]
    found = []
    for end in (0, 1, 3, 3, 6, 10, 20):
        found += history.new_actions({"governor": {"log": actions[max(end - 10, 0) : end], "actions": end}})
    assert found == actions == list(history.log)
    assert history.new_actions({}) == [] and history.new_actions({"governor": {"log": None}}) == []
