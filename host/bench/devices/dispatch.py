"""The samples of one run shared out between boards: each takes the next one; what a lost board left goes to others.

One board is served in the calling thread, several in a thread each.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace

from arenite.errors import AreniteError, DeviceError
from arenite.host.bench.devices.journal import DeviceAnswer
from arenite.host.bench.devices.measure import Progress
from arenite.host.bench.devices.sample_queue import AnswerStore, SampleQueue
from arenite.host.bench.devices.session import DeviceSession, MemoryOverrunError
from arenite.host.link.client import DeviceMemory, DeviceRestartedError
from arenite.host.link.transport import PortGoneError, Transport

#: So many samples missing in a row, and a line is of no use.
MAX_FAILURES = 5
#: So often a board may come back and go away again without one answer.
MAX_RECONNECTIONS = 3


OpenSession = Callable[[], AbstractContextManager[Transport]]


@dataclass(frozen=True)
class DeviceSlot:
    """One board.

    ``open`` flashes or starts it; ``reopen`` waits until it is there again, or is None.  ``recover`` resets a board
    that is there and does not answer, and tells by which way, or None where there is none; ``recovered`` opens it then.
    """

    name: str
    open: OpenSession
    reopen: OpenSession | None = None
    recover: Callable[[], str | None] | None = None
    recovered: OpenSession | None = None


@dataclass
class SlotResult:
    """What one board did in this run.

    ``error``: why it stopped early; ``lost``: it went away, and was not just noisy.
    """

    name: str
    samples: list[int] = field(default_factory=list)
    repeated: int = 0
    memory: DeviceMemory | None = None
    tick_hz: int = 0
    error: AreniteError | None = None
    lost: bool = False


@dataclass(frozen=True)
class SessionCallbacks:
    """How to ask: ``greet`` a line; ``ask`` it for one sample; ``say`` what a person should know meanwhile."""

    greet: Callable[[Transport], DeviceSession]
    ask: Callable[[DeviceSession, int], DeviceAnswer | None]
    say: Callable[[str], None] = lambda _: None


def dispatch_samples(
    seats: Sequence[DeviceSlot],
    todo: Sequence[int],
    kept: AnswerStore,
    count: int,
    how: SessionCallbacks,
    progress: Progress,
) -> list[SlotResult]:
    """Ask for every sample of ``todo``; answers go to ``kept``.

    What is not there afterwards is missing.  Raises what is no failure of a line: overrun memory on the device, a bug,
    a full disk, an interruption.
    """
    work = SampleQueue(todo, kept, count, progress)
    served = [SlotResult(seat.name) for seat in seats]
    several = len(seats) > 1
    if not several:
        _serve(seats[0], served[0], work, how, threading.Lock(), named=False)
        return served
    lock = threading.Lock()
    failures: list[BaseException] = []

    def run(seat: DeviceSlot, done: SlotResult) -> None:
        try:
            _serve(seat, done, work, how, lock, named=True)
        except BaseException as error:
            failures.append(error)
            work.stop()

    threads = [
        threading.Thread(target=run, args=pair, daemon=True) for pair in zip(seats, served, strict=True)
    ]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)  # in pieces, so that an interruption is heard
    except KeyboardInterrupt:
        work.stop()
        for thread in threads:
            thread.join(5)
        raise
    if failures:
        raise failures[0]
    return served


def _serve(
    seat: DeviceSlot,
    done: SlotResult,
    work: SampleQueue,
    how: SessionCallbacks,
    opening: threading.Lock,
    *,
    named: bool,
) -> None:
    """Until nothing is left for this board, or it is of no use any more."""
    fruitless, opener, was_reset = 0, seat.open, False
    while True:
        before = len(done.samples)
        try:
            _sit(seat, opener, done, work, how, opening, named)
            return
        except MemoryOverrunError:
            raise
        except AreniteError as error:
            gained = len(done.samples) > before
            fruitless, was_reset = (0, False) if gained else (fruitless + 1, was_reset)
            if not was_reset and not work.stopped and _silent(error) and seat.recover is not None:
                was_reset, way = True, seat.recover()
                if way is not None and seat.recovered is not None:
                    how.say(f"{error.problem} It was reset ({way}) and is asked again.")
                    opener = seat.recovered
                    continue
            waits = (
                isinstance(error, DeviceError) and seat.reopen is not None and fruitless < MAX_RECONNECTIONS
            )
            if not waits or work.stopped:
                done.error, done.lost = error, True
                if named:
                    how.say(f"{seat.name} is out: {error.problem} Its samples go to the others.")
                return
            how.say(f"{error.problem} Waiting for {seat.name}; {len(done.samples)} samples are safe.")
            assert seat.reopen is not None
            opener = seat.reopen


def _silent(error: AreniteError) -> bool:
    """A board whose port is there, and that did not say what is wrong with it."""
    return isinstance(error, DeviceError) and not isinstance(error, (PortGoneError, DeviceRestartedError))


def _sit(
    seat: DeviceSlot,
    opener: OpenSession,
    done: SlotResult,
    work: SampleQueue,
    how: SessionCallbacks,
    opening: threading.Lock,
    named: bool,
) -> None:
    """One sitting: from opening the line to the last sample, or to an error."""
    with ExitStack() as stack:
        with opening:  # uploaders share a folder
            line = stack.enter_context(opener())
        asker = how.greet(line)
        done.tick_hz = asker.tick_hz
        before, refused = done.repeated, 0
        try:
            while (index := work.take(seat.name)) is not None:
                try:
                    answer = how.ask(asker, index)
                except BaseException:
                    work.give_back(index)
                    raise
                if answer is None:
                    work.give_back(index, refused_by=seat.name)
                    refused += 1
                    if refused >= MAX_FAILURES:
                        done.error = DeviceError(
                            f"The line to {seat.name} is of no use: {refused} samples in a row could not be had.",
                            "Check cable, speed and ground.",
                        )
                        return
                    continue
                refused = 0
                done.samples.append(index)
                work.answered(index, replace(answer, board=seat.name) if named else answer)
        finally:
            done.repeated = before + asker.repeated
        if done.samples:
            done.memory = asker.memory()
