"""Let a language model put the newest answers into a sentence, for the option ``--describe``."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from arenite.errors import ToolError
from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.answers.answer_text import answer_content, answers_text
from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.sinks.chat_client import ChatClient

INSTRUCTION = (
    "You put what a camera's detector found into one short sentence. Say only what the list says. "
    "Do not mention scores and percentages."
)
#: The longest description, and its longest text that is kept, in tokens and characters.
MAX_TOKENS, MAX_CHARACTERS = 48, 500
#: The time between two looks at the answers while nothing changes, and the shortest one after a failed request.
_LOOK_S, _RETRY_S = 0.1, 5.0
#: At the end, the request in progress may take this time.
FINISH_S = 30.0
#: Percentiles are those of this number of newest descriptions, because a run may last for months.
_KEPT = 1000


@dataclass(frozen=True)
class Description:
    """A sentence about the answer with the number ``number``, and the time of the request."""

    text: str
    number: int
    latency_ms: float

    def to_json(self) -> dict[str, Any]:
        return {"text": self.text, "number": self.number, "latency_ms": round(self.latency_ms, 1)}


class DescribeSink:
    """Describes the newest answers in a thread of its own, so that the loop never waits.

    One set of answers waits, the newest of each camera; a newer one replaces it, and is counted in ``skipped``. A
    request begins at the earliest ``every_s`` seconds after the one before, and only if ``answer_content`` differs from
    what was described last; otherwise it is counted in ``unchanged``. The next frame after a description has it in its
    ``extra``, for the sinks that follow. A failure is reported once until a request succeeds again.
    """

    def __init__(
        self,
        client: ChatClient,
        *,
        every_s: float,
        instruction: str | None = None,
        report: Callable[[str], None] = lambda text: None,
    ) -> None:
        """``instruction`` replaces ``INSTRUCTION``. ``report`` receives each description and each new problem."""
        self.described = self.skipped = self.unchanged = self.failed = 0
        self.last: Description | None = None
        self.error: str | None = None  # of the newest request; None if that succeeded
        self._client, self._every_s, self._report = client, every_s, report
        self._instruction = instruction or INSTRUCTION
        self._latency_ms: deque[float] = deque(maxlen=_KEPT)
        self._state = threading.Condition()
        self._latest: dict[int, Answer] = {}
        self._number = 0  # of the newest answer
        self._waiting = 0  # answers since the thread took the last ones
        self._new: Description | None = None  # not yet in a frame
        self._asked = self._ending = self._aborted = False
        self._thread = threading.Thread(target=self._run, name="describe", daemon=True)
        self._thread.start()

    def take(self, served: ServedFrame, frame: Frame | None) -> None:
        with self._state:
            new, self._new = self._new, None
            if served.answer is not None and not self._ending:
                self._latest[served.source], self._number = served.answer, served.number
                self._waiting += 1
                # Otherwise the thread is at work, or waits for the time of the next request.
                if self._waiting == 1:
                    self._state.notify()
        if new is not None:
            served.extra["description"] = new.to_json()

    def finish(self, seconds: float = FINISH_S) -> None:
        """End the thread. The request in progress may take this number of seconds; if there was none yet, the newest
        answers are described. Calling it again does nothing."""
        with self._state:
            self._ending = True
            self._state.notify()
        self._thread.join(min(seconds, 1.0))
        if self._thread.is_alive():
            self._report(f"The last description is not complete yet; it may take up to {seconds:g} s.")
            self._thread.join(max(seconds - 1.0, 0.0))
        if self._thread.is_alive():
            self._aborted = True
            self._client.abort()
            self._thread.join(_RETRY_S)

    def close(self) -> None:
        self.finish()

    def state(self) -> dict[str, Any] | None:
        """Return the newest description, for the dashboard."""
        last = self.last
        return None if last is None else last.to_json()

    def to_json(self) -> dict[str, Any]:
        """Return the figures of the run: counts, times of the requests in milliseconds, the last text and error."""
        times = sorted(self._latency_ms)

        def percentile(percent: int) -> float | None:
            # The nearest rank.
            return round(times[math.ceil(len(times) * percent / 100) - 1], 1) if times else None

        return {
            "described": self.described,
            "skipped": self.skipped,
            "unchanged": self.unchanged,
            "failed": self.failed,
            "latency_ms": {"p50": percentile(50), "p95": percentile(95), "max": percentile(100)},
            "last": self.state(),
            "error": self.error,
        }

    def _run(self) -> None:
        earliest, described = 0.0, None
        while (taken := self._wait(earliest)) is not None:
            answers, number = taken
            content = {camera: answer_content(answer) for camera, answer in answers.items()}
            if content == described:
                self.unchanged += 1
                earliest = time.monotonic() + _LOOK_S
                continue
            begin = time.monotonic()
            if self._describe(answers, number):
                described, earliest = content, begin + self._every_s
            else:
                earliest = time.monotonic() + max(self._every_s, _RETRY_S)

    def _wait(self, earliest: float) -> tuple[dict[int, Answer], int] | None:
        """Wait for answers and until the time ``earliest``. Return the newest answers and their number, or None at the
        end."""
        with self._state:
            while not self._ending:
                rest = earliest - time.monotonic()
                if self._waiting and rest <= 0:
                    break
                self._state.wait(rest if self._waiting else None)
            if self._ending and (self._asked or not self._waiting):
                self.skipped += self._waiting
                return None
            self.skipped += self._waiting - 1
            self._waiting = 0
            return dict(self._latest), self._number

    def _describe(self, answers: dict[int, Answer], number: int) -> bool:
        """Ask for a description. Return whether there is one."""
        self._asked = True
        begin = time.monotonic()
        try:
            text = self._client.ask(
                self._instruction, f"The camera found: {answers_text(answers)}", MAX_TOKENS
            )
        except ToolError as error:
            if self._aborted:
                self.skipped += 1
                return False
            self.failed += 1
            if self.error is None:
                self._report(f"No description: {error.problem} {error.hint} Further failures are counted.")
            self.error = error.problem
            return False
        self.error = None
        latency_ms = (time.monotonic() - begin) * 1e3
        self._latency_ms.append(latency_ms)
        description = Description(text[:MAX_CHARACTERS], number, latency_ms)
        with self._state:
            self.described += 1
            self.last = self._new = description
        self._report(f"Description of answer {number}: {description.text}")
        return True
