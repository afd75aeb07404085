"""Tests of ``History``, the dashboard's data for charts: it has one point per update, and each action of the governor
once."""

from __future__ import annotations

from arenite.host.camera.observe.history import FIELDS, POINTS, History
from tests.host.camera.dashboard.simulated_run import state_at


def test_the_newest_points_are_kept() -> None:
    history = History()
    for step in range(700):
        history.add(state_at(step), step / 2)
    assert len(history.points) == POINTS
    point = dict(zip(FIELDS, history.points[-1], strict=True))
    state = state_at(699)
    assert point["t"] == 349.5 and point["watts"] == round(state["power"]["value"], 4)
    assert point["invoke.p95"] == round(state["stage_ms"]["invoke"]["p95"], 4)
    # The points are those of the steps 100 to 699. One frame in 8 steps is dropped. A step takes half a second, so one
    # dropped frame is a rate of 2 per second.
    assert sum(p[FIELDS.index("dropped")] or 0 for p in list(history.points)) == 2 * (699 // 8 - 99 // 8)


def test_unknown_figures_are_none() -> None:
    point = dict(zip(FIELDS, History().add({}, 1.0), strict=True))
    assert point.pop("t") == 1.0 and set(point.values()) == {None}


def test_a_restarted_counter_gives_no_negative_rate() -> None:
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
    # While the interval is too short (at the start and after the gap of 5 s), the given rate of 99 is used. Otherwise
    # the rate is the mean over at most 5 s. The last two points belong to another run.
    assert fps == [99.0, 99.0, 30.0, 30.0, 2.0, 99.0, 99.0, 7.0]


def test_overlapping_logs_give_each_action_once() -> None:
    history = History()
    actions = [{"t_s": k // 2, "lever": "fps", "from": k, "to": k + 1, "reason": "heat"} for k in range(20)]
    recorded = []
    for end in (0, 1, 3, 3, 6, 10, 20):
        recorded += history.new_actions(
            {"governor": {"log": actions[max(end - 10, 0) : end], "actions": end}}
        )
    assert recorded == actions == list(history.log)
    assert history.new_actions({}) == [] and history.new_actions({"governor": {"log": None}}) == []


def test_the_log_has_the_events_of_updates_too() -> None:
    history = History()
    heat = {"t_s": 1.0, "lever": "fps", "from": 30, "to": 15, "reason": "heat"}
    events = [
        {"t_s": float(k), "lever": "update", "from": "a", "to": "b", "reason": f"event {k}"} for k in range(4)
    ]
    state = {"governor": {"log": [heat], "actions": 1}, "updates": {"log": events[:1], "actions": 1}}
    assert history.new_actions(state) == [heat, events[0]]
    assert history.new_actions({**state, "updates": {"log": events[2:], "actions": 4}}) == events[2:]
    assert history.new_actions({"updates": {"log": events[2:], "actions": 4}}) == []
    assert list(history.log) == [heat, events[0], *events[2:]]
