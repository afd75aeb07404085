"""Shares the samples of one run between boards. A board that is free takes the next sample. Samples that a lost board
did not answer go to the remaining boards.

A single board is served in the calling thread. Each of several boards has its own thread.
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
from arenite.host.link.client import DeviceRestartedError
from arenite.host.link.device_replies import DeviceMemory
from arenite.host.link.transport import PortGoneError, Transport

#: A connection is given up after this number of missing samples in a row.
MAX_FAILURES = 5
#: A board may reconnect this number of times without giving an answer in between.
MAX_RECONNECTIONS = 3

#: A function that returns a context manager, which opens a transport to a board and closes it at the end.
OpenSession = Callable[[], AbstractContextManager[Transport]]


@dataclass(frozen=True)
class DeviceSlot:
    """The functions that connect to one board of a run.

    Attributes:
        name: the name of the board in results and messages.
        open: flashes the board, or starts the emulator, and opens a transport.
        reopen: waits until a lost board is connected again, and opens a transport. None: a lost board is given up.
        recover: resets a board that is connected but does not answer. Returns the name of the reset method, or None if
            the board has no such method. None: the board cannot be reset.
        recovered: opens a transport after ``recover``.
    """

    name: str
    open: OpenSession
    reopen: OpenSession | None = None
    recover: Callable[[], str | None] | None = None
    recovered: OpenSession | None = None


@dataclass
class SlotResult:
    """The work of one board in this run.

    ``samples`` has the numbers of the samples that the board answered, ``repeated`` counts how often a sample was sent
    again. ``tick_hz`` is the rate of the board's counter. ``error`` is the reason why the board stopped early, or None.
    ``lost`` is true if the board disappeared, and false if its connection was only noisy.
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
    """The functions that a run calls: ``handshake`` opens a session on a transport, ``request`` gets the answer to one
    sample, ``report`` shows a message to the user."""

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
    """Request the answer to each sample number in ``todo``, and add the answers to ``store``. Return one result per
    slot.

    ``count`` is the number of samples of the complete run, for ``progress``. A sample without an answer is missing from
    ``store``. Errors of a connection are in the results. Other errors are raised: overwritten memory on the device, a
    bug, a full disk, an interruption.
    """
    work = SampleQueue(todo, store, count, progress)
    results = [SlotResult(slot.name) for slot in slots]
    has_several = len(slots) > 1
    if not has_several:
        _serve(slots[0], results[0], work, callbacks, threading.Lock(), use_names=False)
        return results
    open_lock = threading.Lock()
    failures: list[BaseException] = []

    def run(slot: DeviceSlot, slot_result: SlotResult) -> None:
        try:
            _serve(slot, slot_result, work, callbacks, open_lock, use_names=True)
        except BaseException as error:
            failures.append(error)
            work.stop()

    threads = [
        threading.Thread(target=run, args=slot_and_result, daemon=True)
        for slot_and_result in zip(slots, results, strict=True)
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
    open_lock: threading.Lock,
    *,
    use_names: bool,
) -> None:
    """Request answers from one board until no sample is left for it, or the board is given up."""
    attempts_without_answer, open_transport, was_reset = 0, slot.open, False
    while True:
        answers_before = len(slot_result.samples)
        try:
            _run_session(slot, open_transport, slot_result, work, callbacks, open_lock, use_names)
            return
        except MemoryOverrunError:
            raise
        except AreniteError as error:
            has_answers = len(slot_result.samples) > answers_before
            attempts_without_answer, was_reset = (
                (0, False) if has_answers else (attempts_without_answer + 1, was_reset)
            )
            if not was_reset and not work.stopped and _is_silent(error) and slot.recover is not None:
                was_reset, method = True, slot.recover()
                if method is not None and slot.recovered is not None:
                    callbacks.report(
                        f"{error.problem} The board was reset ({method}), and the run continues."
                    )
                    open_transport = slot.recovered
                    continue
            reopen = slot.reopen
            if was_reset and isinstance(error, DeviceRestartedError):
                reopen = slot.recovered  # the reset took effect only after the connection was open
            can_wait = (
                isinstance(error, DeviceError)
                and reopen is not None
                and attempts_without_answer < MAX_RECONNECTIONS
            )
            if not can_wait or work.stopped:
                slot_result.error, slot_result.lost = error, True
                if use_names:
                    callbacks.report(
                        f"{slot.name} is out of the run: {error.problem} Its samples go to the other boards."
                    )
                return
            callbacks.report(
                f"{error.problem} Waiting for {slot.name}; {len(slot_result.samples)} samples are stored."
            )
            assert reopen is not None
            open_transport = reopen


def _is_silent(error: AreniteError) -> bool:
    """Return whether the error means that the board's port exists, but the board neither answered nor restarted."""
    return isinstance(error, DeviceError) and not isinstance(error, (PortGoneError, DeviceRestartedError))


def _run_session(
    slot: DeviceSlot,
    open_transport: OpenSession,
    slot_result: SlotResult,
    work: SampleQueue,
    callbacks: SessionCallbacks,
    open_lock: threading.Lock,
    use_names: bool,
) -> None:
    """Run one session: open the transport, then request answers until no sample is left or an error occurs."""
    with ExitStack() as stack:
        with open_lock:  # uploaders share a folder
            transport = stack.enter_context(open_transport())
        session = callbacks.handshake(transport)
        slot_result.tick_hz = session.tick_hz
        repeated_before, unanswered = slot_result.repeated, 0
        try:
            while (index := work.take(slot.name)) is not None:
                try:
                    answer = callbacks.request(session, index)
                except BaseException:
                    work.give_back(index)
                    raise
                if answer is None:
                    work.give_back(index, refused_by=slot.name)
                    unanswered += 1
                    if unanswered >= MAX_FAILURES:
                        slot_result.error = DeviceError(
                            f"The connection to {slot.name} was given up: {unanswered} samples in a row had no valid"
                            " answer.",
                            "Check cable, speed and ground.",
                        )
                        return
                    continue
                unanswered = 0
                slot_result.samples.append(index)
                work.answered(index, replace(answer, board=slot.name) if use_names else answer)
        finally:
            slot_result.repeated = repeated_before + session.repeated
        if slot_result.samples:
            slot_result.memory = session.memory()
