"""All samples of a run through one board or several, with a journal where there are many."""

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
from arenite.host.link.client import DeviceMemory

#: From so many samples on, what was answered is kept on disk.
JOURNAL_THRESHOLD = 50


@dataclass(frozen=True)
class RunConfig:
    """How samples get to boards.

    ``ports``: of boards of one type, which share the samples; none: ``copies`` emulators.  ``resume``: go on where an
    earlier run stopped; None: when the samples are many.  ``wait_s``: how long a board that went away is waited for.
    ``journals``: folder of the journals; None: in the cache.  ``say``: told what a person should know meanwhile.
    """

    ports: tuple[str, ...] = ()
    copies: int = 1
    resume: bool | None = None
    wait_s: float = 0.0
    journals: Path | None = None
    say: Callable[[str], None] = lambda _: None


#: One board, nothing kept unless the samples are many.
SINGLE_BOARD = RunConfig()


@dataclass(frozen=True)
class RunResult:
    """``answers`` by sample; ``served``: what each board did in this run; ``resumed``: answers of an earlier run."""

    answers: dict[int, DeviceAnswer]
    served: list[SlotResult]
    resumed: int
    tick_hz: int
    memory: DeviceMemory | None
    missing: tuple[int, ...]
    journal: Journal | None = field(default=None, repr=False)

    @property
    def notes(self) -> list[str]:
        """Sentences about what went wrong on the way."""
        found = [f"{s.name} is out: {s.error.problem}" for s in self.served if s.error is not None]
        if self.missing:
            again = " Run the same command again: only these will be asked for." if self.journal else ""
            found.append(
                f"{len(self.missing)} samples have no answer that can be believed, the first is number"
                f" {self.missing[0]}.{again}"
            )
        return found

    def finish(self) -> None:
        """The result is made: nothing of it is asked for again, unless samples are missing."""
        if self.journal is not None and not self.missing:
            self.journal.discard()


def run_samples(
    project: Project,
    elf: Path,
    samples: Samples,
    how: RunConfig,
    judge: OutputVerifier,
    open_line: Opener,
    progress: Progress,
    stack: ExitStack,
    *,
    stateful: bool = False,
) -> RunResult:
    """Every sample's answer, as far as it can be had; ``stack`` closes the journal.

    Raises ``UsageError`` for what does not go together; ``DeviceError`` when no board is left: what was answered by
    then is kept, and the hint says so.
    """
    baud = baud_of(project.protocol, project.board)
    places = device_slots(
        project.board, how.ports, how.copies, how.wait_s, open_line, baud=baud, again=not stateful
    )
    if stateful and (len(places) > 1 or how.resume):
        raise UsageError(
            "With --stateful each sample depends on those before it.",
            "Leave out --resume, --copies and all --port but one.",
        )
    wanted = _wanted(project, samples, judge, progress)
    journal = None if stateful else _journal(project, samples, how, stack)
    kept: Journal | UnsavedAnswers = journal if journal is not None else UnsavedAnswers()
    kept.answers = {k: a for k, a in kept.answers.items() if k < len(samples)}
    todo = [k for k in range(len(samples)) if k not in kept.answers]
    if not todo:  # cut short behind the last answer: the device's memory is still to be asked for
        kept.answers.pop(0)
        todo = [0]
    resumed = len(kept.answers)
    if resumed:
        how.say(f"{resumed} of {len(samples)} samples were answered before; --no-resume asks for all again.")

    def ask(asker: DeviceSession, index: int) -> DeviceAnswer | None:
        expected = wanted[index] if wanted else None
        return asker.answer(samples.inputs[index], expected, fresh=index == 0 or not stateful)

    rounds = SessionCallbacks(lambda line: handshake(line, project.generated, project.protocol), ask, how.say)
    try:
        served = dispatch_samples(places, todo, kept, len(samples), rounds, progress)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_kept(kept, len(samples))) from None
    progress("run", len(kept.answers), len(samples))
    missing = tuple(k for k in range(len(samples)) if k not in kept.answers)
    lost = [s for s in served if s.lost]
    asked = [s for s in served if s.samples]
    memories = [s.memory for s in asked if s.memory is not None]
    unheard = project.protocol != "mlperf" and not memories
    if lost and ((missing and len(lost) == len(served)) or unheard):
        assert lost[0].error is not None
        raise _with_hint(lost[0].error, _kept(kept, len(samples)))
    if not kept.answers or unheard:
        told = next((s.error for s in served if s.error is not None), None)
        raise told or DeviceError("Not one sample was answered.", "Check cable, speed and ground.")
    memory = None
    if memories:
        deepest = max(memories, key=lambda m: m.stack_used)
        memory = replace(deepest, guards_damaged=sum(m.guards_damaged for m in memories))
    return RunResult(
        dict(sorted(kept.answers.items())),
        served,
        resumed,
        max(s.tick_hz for s in served),
        memory,
        missing,
        journal,
    )


def _wanted(project: Project, samples: Samples, judge: OutputVerifier, progress: Progress) -> list[bytes]:
    """The monitor has no checksum: its answers are weighed against LiteRT's while they come.  Else empty."""
    if project.protocol != "mlperf":
        return []
    wanted = []
    for k in range(len(samples)):
        progress("check", k, len(samples))
        wanted.append(b"".join(np.ascontiguousarray(v).tobytes() for v in judge.expected(k)))
    return wanted


def _journal(project: Project, samples: Samples, how: RunConfig, stack: ExitStack) -> Journal | None:
    """Raises ``UsageError`` when one was asked for and cannot be; otherwise the run goes on without."""
    if not how.resume and len(samples) < JOURNAL_THRESHOLD:
        return None
    key = {
        "image": project.generated.sha256.hex(),
        "firmware": project_hash(project.directory),
        "data": data_hash(samples),
        "board": project.board.name,
        "protocol": project.protocol,
        "for": "bench",
    }
    folder = how.journals or cache_directory() / "runs"
    try:
        return stack.enter_context(Journal(folder, key, resume=how.resume is not False))
    except UsageError as error:
        if how.resume:
            raise
        how.say(f"Nothing is kept for a later run: {error.problem}")
        return None


def _kept(kept: Journal | UnsavedAnswers, count: int) -> str:
    if isinstance(kept, UnsavedAnswers):
        return ""
    return f"{len(kept.answers)} of {count} samples are kept: the same command goes on from there."


def _with_hint(error: AreniteError, more: str) -> AreniteError:
    error.hint = f"{error.hint} {more}".strip()
    return error


def board_samples(served: Sequence[SlotResult], answers: dict[int, DeviceAnswer]) -> dict[str, list[int]]:
    """The samples that each board answered, in this run and in those that it goes on from."""
    if len(served) == 1:
        return {served[0].name: sorted(answers)}
    found: dict[str, list[int]] = {s.name: [] for s in served}
    for k, answer in answers.items():
        found.setdefault(answer.board or "earlier", []).append(k)
    return found
