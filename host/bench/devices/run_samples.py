"""Run all samples on one or several boards. A run of many samples stores its answers in a journal, so that it can
continue after an interruption."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from arenite.errors import AreniteError, DeviceError, UsageError
from arenite.files import cache_directory
from arenite.firmware.generator.features import baud_of
from arenite.host.bench.devices.dispatch import SessionCallbacks, SlotResult, dispatch_samples
from arenite.host.bench.devices.journal import DeviceAnswer, Journal, UnsavedAnswers, data_hash, project_hash
from arenite.host.bench.devices.measure import Progress
from arenite.host.bench.devices.session import DeviceSession, handshake
from arenite.host.bench.devices.slots import Opener, device_slots
from arenite.host.bench.samples import Samples
from arenite.host.bench.verification import OutputVerifier
from arenite.host.build.project import Project
from arenite.host.link.client import DEFAULT_LIMITS, TimeLimits
from arenite.host.link.device_replies import DeviceMemory

#: A run of at least this number of samples stores its answers on disk.
JOURNAL_THRESHOLD = 50


@dataclass(frozen=True)
class RunConfig:
    """Which boards run the samples, and what happens after an interruption.

    Attributes:
        ports: the ports of boards of one type, which share the samples. If empty, emulators run the samples.
        copies: the number of emulators.
        resume: continue where an earlier run stopped. None: do so only if there are at least ``JOURNAL_THRESHOLD``
            samples.
        wait_s: the number of seconds to wait for a board that disappeared.
        journals: the folder of the journals. None: a folder in the cache.
        limits: how long the host waits for answers by Arenite's protocol.
        report: a function that is called with messages for the user.
    """

    ports: tuple[str, ...] = ()
    copies: int = 1
    resume: bool | None = None
    wait_s: float = 0.0
    journals: Path | None = None
    limits: TimeLimits = DEFAULT_LIMITS
    report: Callable[[str], None] = lambda _: None


#: A run on one board. Its answers are stored only if there are many samples.
SINGLE_BOARD = RunConfig()


@dataclass(frozen=True)
class RunResult:
    """The ``answers`` by sample number, and the ``results`` of each board in this run. ``resumed`` is the number of
    answers from an earlier run. ``missing`` has the numbers of the samples without an answer."""

    answers: dict[int, DeviceAnswer]
    results: list[SlotResult]
    resumed: int
    tick_hz: int
    memory: DeviceMemory | None
    missing: tuple[int, ...]
    journal: Journal | None = field(default=None, repr=False)

    @property
    def notes(self) -> list[str]:
        """One sentence for each problem of the run."""
        notes = [
            f"{s.name} is out of the run: {s.error.problem}" for s in self.results if s.error is not None
        ]
        if self.missing:
            retry = " Run the same command again to retry only these." if self.journal else ""
            notes.append(
                f"{len(self.missing)} samples have no reliable answer; the first is number"
                f" {self.missing[0]}.{retry}"
            )
        return notes

    def finish(self) -> None:
        """Delete the journal of a finished run, unless samples are missing."""
        if self.journal is not None and not self.missing:
            self.journal.discard()


def run_samples(
    project: Project,
    elf: Path,
    samples: Samples,
    config: RunConfig,
    verifier: OutputVerifier,
    open_line: Opener,
    progress: Progress,
    stack: ExitStack,
    *,
    stateful: bool = False,
) -> RunResult:
    """Run every sample, and return the answers that the devices gave.

    ``open_line`` opens the transport of a port, see ``slots.Opener``. ``stack`` closes the journal. Raises
    ``UsageError`` for options that exclude each other. Raises ``DeviceError`` when no board is left; if the run has a
    journal, the answers received until then are stored, and the hint says so.
    """
    baud = baud_of(project.protocol, project.board)
    slots = device_slots(
        project.board,
        config.ports,
        config.copies,
        config.wait_s,
        open_line,
        baud=baud,
        reconnect=not stateful,
    )
    if stateful and (len(slots) > 1 or config.resume):
        raise UsageError(
            "With --stateful, each sample depends on the samples before it.",
            "Remove --resume and --copies, and give only one --port.",
        )
    references = _expected_outputs(project, samples, verifier, progress)
    journal = None if stateful else _open_journal(project, samples, config, stack)
    store: Journal | UnsavedAnswers = journal if journal is not None else UnsavedAnswers()
    store.answers = {k: a for k, a in store.answers.items() if k < len(samples)}
    todo = [k for k in range(len(samples)) if k not in store.answers]
    # An earlier run was interrupted between its last answer and the device's memory report. Sample 0 is run again to
    # get this report.
    if not todo:
        store.answers.pop(0)
        todo = [0]
    resumed = len(store.answers)
    if resumed:
        config.report(
            f"An earlier run answered {resumed} of {len(samples)} samples. --no-resume runs all of them again."
        )

    def request(session: DeviceSession, index: int) -> DeviceAnswer | None:
        expected = references[index] if references else None
        return session.answer(samples.inputs[index], expected, fresh=index == 0 or not stateful)

    callbacks = SessionCallbacks(
        lambda transport: handshake(transport, project.generated, project.protocol, limits=config.limits),
        request,
        config.report,
    )
    try:
        results = dispatch_samples(slots, todo, store, len(samples), callbacks, progress)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_stored_hint(store, len(samples))) from None
    progress("run", len(store.answers), len(samples))
    missing = tuple(k for k in range(len(samples)) if k not in store.answers)
    lost = [s for s in results if s.lost]
    active = [s for s in results if s.samples]
    memories = [s.memory for s in active if s.memory is not None]
    memory_missing = project.protocol != "mlperf" and not memories
    if lost and ((missing and len(lost) == len(results)) or memory_missing):
        assert lost[0].error is not None
        raise _with_hint(lost[0].error, _stored_hint(store, len(samples)))
    if not store.answers or memory_missing:
        first_error = next((s.error for s in results if s.error is not None), None)
        raise first_error or DeviceError(
            "None of the samples was answered.", "Check cable, speed and ground."
        )
    memory = None
    if memories:
        largest_stack = max(memories, key=lambda m: m.stack_used)
        memory = replace(largest_stack, guards_damaged=sum(m.guards_damaged for m in memories))
    return RunResult(
        dict(sorted(store.answers.items())),
        results,
        resumed,
        max(s.tick_hz for s in results),
        memory,
        missing,
        journal,
    )


def _expected_outputs(
    project: Project, samples: Samples, verifier: OutputVerifier, progress: Progress
) -> list[bytes]:
    """Return LiteRT's output bytes of each sample for the MLPerf monitor, whose answers have no checksum. The list is
    empty for Arenite's protocol."""
    if project.protocol != "mlperf":
        return []
    references = []
    for k in range(len(samples)):
        progress("check", k, len(samples))
        references.append(b"".join(np.ascontiguousarray(v).tobytes() for v in verifier.expected(k)))
    return references


def _open_journal(project: Project, samples: Samples, config: RunConfig, stack: ExitStack) -> Journal | None:
    """Return the run's journal, or None for a short run. If the journal cannot be opened, raise ``UsageError`` if the
    user requested one with ``resume``, else return None."""
    if not config.resume and len(samples) < JOURNAL_THRESHOLD:
        return None
    key = {
        "image": project.generated.sha256.hex(),
        "firmware": project_hash(project.directory),
        "data": data_hash(samples),
        "board": project.board.name,
        "protocol": project.protocol,
        "for": "bench",
    }
    folder = config.journals or cache_directory() / "runs"
    try:
        return stack.enter_context(Journal(folder, key, resume=config.resume is not False))
    except UsageError as error:
        if config.resume:
            raise
        config.report(f"The answers are not stored for a later run: {error.problem}")
        return None


def _stored_hint(store: Journal | UnsavedAnswers, count: int) -> str:
    if isinstance(store, UnsavedAnswers):
        return ""
    return f"{len(store.answers)} of {count} samples are stored. Run the same command again to continue."


def _with_hint(error: AreniteError, addition: str) -> AreniteError:
    error.hint = f"{error.hint} {addition}".strip()
    return error


def board_samples(results: Sequence[SlotResult], answers: dict[int, DeviceAnswer]) -> dict[str, list[int]]:
    """Return the numbers of the samples that each board answered, by the board's name. ``answers`` has the answers of
    this run and of the earlier runs that it continues."""
    if len(results) == 1:
        return {results[0].name: sorted(answers)}
    samples: dict[str, list[int]] = {s.name: [] for s in results}
    for k, answer in answers.items():
        samples.setdefault(answer.board or "earlier", []).append(k)
    return samples
