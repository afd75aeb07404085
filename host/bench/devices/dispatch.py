"""Shares the samples of one run between boards: each takes the next one, and the samples of a lost board go
to others.

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

#: After this many missing samples in a row a connection is given up.
MAX_FAILURES = 5
#: A board may come back and disappear again this often without one answer.
MAX_RECONNECTIONS = 3


OpenSession = Callable[[], AbstractContextManager[Transport]]


@dataclass(frozen=True)
class DeviceSlot:
    """One board of a run.

    ``open`` flashes or starts it; ``reopen`` waits until it is back, or is None. ``recover`` resets a board
    that is connected but does not answer, and returns the method that it used, or None where there is none;
    ``recovered`` opens the board after that.
    """

    name: str
    open: OpenSession
    reopen: OpenSession | None = None
    recover: Callable[[], str | None] | None = None
    recovered: OpenSession | None = None


@dataclass
class SlotResult:
    """The work of one board in this run.

    ``error``: why it stopped early; ``lost``: it disappeared, and was not just noisy.
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
    """The functions of a run: ``handshake`` opens a session on a transport; ``request`` asks it for one
    sample; ``report`` shows a message to the user."""

    handshake: Callable[[Transport], DeviceSession]
    request: Callable[[DeviceSession, int], DeviceAnswer | None]
    report: Callable[[str], None] = lambda _: None


def dispatch_samples(
    slots: Sequence[DeviceSlot],
    todo: Sequence[int],
    store: AnswerStore,
    count: int,
    callbacks: SessionCallbacks,
    progress: Progress,
) -> list[SlotResult]:
    """Request every sample of ``todo``; the answers go to ``store``.

    A sample without an answer is missing afterwards. Raises the errors that are not failures of a connection:
    overrun memory on the device, a bug, a full disk, an interruption.
    """
    work = SampleQueue(todo, store, count, progress)
    results = [SlotResult(slot.name) for slot in slots]
    several = len(slots) > 1
    if not several:
        _serve(slots[0], results[0], work, callbacks, threading.Lock(), named=False)
        return results
    lock = threading.Lock()
    failures: list[BaseException] = []

    def run(slot: DeviceSlot, slot_result: SlotResult) -> None:
        try:
            _serve(slot, slot_result, work, callbacks, lock, named=True)
        except BaseException as error:
            failures.append(error)
            work.stop()

    threads = [
        threading.Thread(target=run, args=pair, daemon=True) for pair in zip(slots, results, strict=True)
    ]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)  # in short steps, so that an interruption is handled soon
    except KeyboardInterrupt:
        work.stop()
        for thread in threads:
            thread.join(5)
        raise
    if failures:
        raise failures[0]
    return results


def _serve(
    slot: DeviceSlot,
    slot_result: SlotResult,
    work: SampleQueue,
    callbacks: SessionCallbacks,
    opening: threading.Lock,
    *,
    named: bool,
) -> None:
    """Serve one board until no samples are left for it, or it is given up."""
    fruitless, opener, was_reset = 0, slot.open, False
    while True:
        before = len(slot_result.samples)
        try:
            _session(slot, opener, slot_result, work, callbacks, opening, named)
            return
        except MemoryOverrunError:
            raise
        except AreniteError as error:
            gained = len(slot_result.samples) > before
            fruitless, was_reset = (0, False) if gained else (fruitless + 1, was_reset)
            if not was_reset and not work.stopped and _silent(error) and slot.recover is not None:
                was_reset, way = True, slot.recover()
                if way is not None and slot.recovered is not None:
                    callbacks.report(f"{error.problem} It was reset ({way}) and the run continues.")
                    opener = slot.recovered
                    continue
            waits = (
                isinstance(error, DeviceError) and slot.reopen is not None and fruitless < MAX_RECONNECTIONS
            )
            if not waits or work.stopped:
                slot_result.error, slot_result.lost = error, True
                if named:
                    callbacks.report(
                        f"{slot.name} is out of the run: {error.problem} Its samples go to the other boards."
                    )
                return
            callbacks.report(
                f"{error.problem} Waiting for {slot.name}; {len(slot_result.samples)} samples are stored."
            )
            assert slot.reopen is not None
            opener = slot.reopen


def _silent(error: AreniteError) -> bool:
    """Whether a board's port is present, but the board did not answer with an error of its own."""
    return isinstance(error, DeviceError) and not isinstance(error, (PortGoneError, DeviceRestartedError))


def _session(
    slot: DeviceSlot,
    opener: OpenSession,
    slot_result: SlotResult,
    work: SampleQueue,
    callbacks: SessionCallbacks,
    opening: threading.Lock,
    named: bool,
) -> None:
    """One session: from opening the transport to the last sample, or to an error."""
    with ExitStack() as stack:
        with opening:  # uploaders share a folder
            transport = stack.enter_context(opener())
        session = callbacks.handshake(transport)
        slot_result.tick_hz = session.tick_hz
        before, refused = slot_result.repeated, 0
        try:
            while (index := work.take(slot.name)) is not None:
                try:
                    answer = callbacks.request(session, index)
                except BaseException:
                    work.give_back(index)
                    raise
                if answer is None:
                    work.give_back(index, refused_by=slot.name)
                    refused += 1
                    if refused >= MAX_FAILURES:
                        slot_result.error = DeviceError(
                            f"The connection to {slot.name} was given up: {refused} samples in a row had no valid"
                            " answer.",
                            "Check cable, speed and ground.",
                        )
                        return
                    continue
                refused = 0
                slot_result.samples.append(index)
                work.answered(index, replace(answer, board=slot.name) if named else answer)
        finally:
            slot_result.repeated = before + session.repeated
        if slot_result.samples:
            slot_result.memory = session.memory()
