"""Tests of the predicted arrival of frames. The lag of a frame is the time from its time stamp to its arrival.

The thread that reads the frames sleeps until shortly before the predicted arrival, then polls. It sees the arrival of a
frame only while it polls. All times are given, so no test depends on the machine.
"""

from __future__ import annotations

from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.serving.arrival_forecast import ArrivalForecast

FORMAT = Format("rgb", 16, 16, (48,), 20.0)
#: Nanoseconds in a millisecond.
MS = 1_000_000
#: The time between two frames, in nanoseconds.
INTERVAL = 50 * MS


def frame(number: int) -> Frame:
    """Return a frame whose time stamp is ``number`` intervals."""
    return Frame(FORMAT, (0,), None, number, number * INTERVAL)


def lag_of(forecast: ArrivalForecast, number: int) -> int:
    """Return the predicted lag in nanoseconds after frame ``number``."""
    return forecast.due_ns - (number + 1) * INTERVAL


def forecast_after(lag_ns: int) -> ArrivalForecast:
    """Return a forecast after the frames 1 and 2, which corrects the lag in steps of 1 ms. The thread slept, without
    polling, in the reads of both frames, and each read ended ``lag_ns`` after the frame's time stamp."""
    forecast = ArrivalForecast(MS)
    for number in (1, 2):
        assert forecast.due_ns == 0
        forecast.add(frame(number))
        forecast.learn_end_of_read(frame(number), number * INTERVAL + lag_ns, False)
    return forecast


def test_the_first_lag_is_that_of_the_read() -> None:
    assert lag_of(forecast_after(9 * MS), 2) == 9 * MS


def test_frames_that_arrive_before_the_wake_up_lower_the_lag_step_by_step() -> None:
    forecast = forecast_after(9 * MS)
    for remaining_ms in range(8, -1, -1):
        forecast.learn_arrival_in_sleep()
        assert lag_of(forecast, 2) == remaining_ms * MS
    forecast.learn_arrival_in_sleep()
    assert lag_of(forecast, 2) == 0


def test_a_frame_after_polling_raises_the_lag_by_one_step() -> None:
    forecast = forecast_after(2 * MS)
    forecast.learn_end_of_read(frame(2), 2 * INTERVAL + 30 * MS, True)
    assert lag_of(forecast, 2) == 3 * MS
    forecast.learn_end_of_read(frame(2), 2 * INTERVAL + 3 * MS + 1000, True)
    assert lag_of(forecast, 2) == 3 * MS + 1000, "never beyond the end of the read"


def test_late_wake_ups_hardly_change_the_lag() -> None:
    forecast = forecast_after(2 * MS)
    for _ in range(10):
        forecast.learn_end_of_read(frame(2), 2 * INTERVAL + 30 * MS, False)
        forecast.learn_latest_arrival(frame(2), 2 * INTERVAL + 30 * MS)
    assert 2 * MS < lag_of(forecast, 2) < 3 * MS


def test_a_frame_that_had_already_arrived_limits_the_lag() -> None:
    forecast = forecast_after(9 * MS)
    forecast.learn_latest_arrival(frame(2), 2 * INTERVAL + 4 * MS)
    assert lag_of(forecast, 2) == 4 * MS


def test_observed_arrivals_are_averaged() -> None:
    forecast = forecast_after(8 * MS)
    for _ in range(100):
        forecast.learn_arrival(frame(2), 2 * INTERVAL + 3 * MS)
    assert abs(lag_of(forecast, 2) - 3 * MS) < 1000
