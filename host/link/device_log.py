"""Follow the log and the health of Arenite firmware that was generated with ``--health``. Such firmware only
answers requests, so the host polls it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from arenite.errors import DeviceError
from arenite.host.link.client import DeviceClient, HealthUnavailableError, RequestStoppedError
from arenite.host.link.health import Health
from arenite.host.link.line_log import LogLine, read_with_reconnect
from arenite.host.link.transport import PortGoneError, SerialTransport, Transport

#: The default time between polls in seconds.
POLL_S = 1.0
#: The first poll may continue for this time after ``stop`` returns true, so that even `--seconds 0` shows the log once.
_FIRST_POLL_S = 5.0


def follow(
    find: Callable[[], str],
    baud: int,
    *,
    reconnect: bool = False,
    stop: Callable[[], bool] = lambda: False,
    every_s: float = POLL_S,
) -> Iterator[LogLine]:
    """Yield the entries of the log when they appear, and the health when it changes. The device is polled at least
    once.

    The arguments and the events of lost and recovered ports are those of ``line_log.watch``. ``every_s`` is the time
    between polls in seconds.

    Raises:
        HealthUnavailableError: the firmware has no log.
        PortGoneError: the cable was pulled, and ``reconnect`` is off.
        DeviceError: the device does not answer at the beginning.
    """
    follower = LogFollower()

    def poll(transport: SerialTransport, first: bool) -> Iterator[LogLine]:
        return _poll(transport, follower, stop, every_s, patient=not first)

    yield from read_with_reconnect(find, baud, poll, reconnect=reconnect, stop=stop)


class LogFollower:
    """Remembers what was shown, so that nothing is shown twice after a reconnection.

    ``number`` is the number of the last log entry, or -1. ``start`` and ``remarks`` are from the last health report:
    the number of starts since power was lost, and the problems.
    """

    def __init__(self) -> None:
        self.number = -1
        self.start = 0
        self.remarks: list[str] = []

    def news(self, client: DeviceClient) -> Iterator[LogLine]:
        """Yield the entries and the health that are new since the last call."""
        health = client.health()
        entries = client.log()
        if health.starts < self.start:
            self.number = -1  # power was lost, so the device counts from 0 again
        if health.starts != self.start:
            yield LogLine(time.time(), summary(health), "health")
        elif health.remarks != self.remarks:
            for remark in health.remarks:
                if remark not in self.remarks:
                    yield LogLine(time.time(), remark, "health")
        self.start, self.remarks = health.starts, health.remarks
        for entry in entries:
            if entry.number > self.number:
                self.number = entry.number
                yield LogLine(time.time(), str(entry))


def summary(health: Health) -> str:
    """Return the state of a device as one line of text."""
    dog = f"watchdog {health.watchdog_ms / 1000:g} s" if health.watchdog_ms else "no watchdog"
    return (
        f"start {health.starts} by {health.started_by}, up {health.uptime_ms / 1000:.1f} s,"
        f" {health.inferences:,} inferences, {health.stack_margin:,} B of stack never used,"
        f" {health.guards_damaged} guard words damaged, {dog}"
    )


def _poll(
    transport: Transport, follower: LogFollower, stop: Callable[[], bool], every_s: float, *, patient: bool
) -> Iterator[LogLine]:
    """Yield news from the device until ``stop`` returns true. ``patient``: a device that does not answer is an event
    and not an error. It becomes true after the first answer."""
    polled, begin = False, time.monotonic()

    def stop_request() -> bool:
        return stop() and (polled or time.monotonic() > begin + _FIRST_POLL_S)

    client = DeviceClient(transport, stop=stop_request)
    greeted = False
    while True:
        try:
            if not greeted:
                client.hello()
                greeted = True
            yield from follower.news(client)
            patient = polled = True
        except (PortGoneError, HealthUnavailableError):
            raise
        except RequestStoppedError:
            return
        except DeviceError as error:
            # The device restarted or hangs. If it has answered before, this is only an event in the log.
            if not patient:
                raise
            greeted = False
            yield LogLine(time.time(), error.problem, "silent")
        until = time.monotonic() + every_s
        while not stop() and time.monotonic() < until:
            time.sleep(min(0.05, every_s))
        if stop():
            return
