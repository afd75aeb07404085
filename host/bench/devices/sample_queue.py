"""The samples that still need an answer, shared by the threads that serve the boards."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol

from arenite.host.bench.devices.journal import DeviceAnswer
from arenite.host.bench.devices.measure import Progress


class AnswerStore(Protocol):
    """Stores answers, in a journal or in memory."""

    answers: dict[int, DeviceAnswer]

    def add(self, index: int, answer: DeviceAnswer) -> None:
        """Store the answer to sample ``index``."""


class SampleQueue:
    """The samples that still need an answer. Every method may be called from any thread.

    ``todo`` has the numbers of these samples, ``count`` is the number of samples of the complete run. Answers are added
    to ``store``.
    """

    def __init__(self, todo: Sequence[int], store: AnswerStore, count: int, progress: Progress) -> None:
        self._todo = list(reversed(todo))
        self._refused: dict[int, set[str]] = {k: set() for k in todo}
        self._store, self._count, self._progress = store, count, progress
        self._in_progress = 0
        self._changed = threading.Condition()
        self.stopped = False

    def take(self, name: str) -> int | None:
        """Return the number of the next sample for the board ``name``, or None if no sample is left for it. Waits while
        other boards may still give a sample back."""
        with self._changed:
            while not self.stopped:
                position = next(
                    (
                        i
                        for i in range(len(self._todo) - 1, -1, -1)
                        if name not in self._refused[self._todo[i]]
                    ),
                    None,
                )
                if position is not None:
                    self._in_progress += 1
                    self._progress("run", len(self._store.answers), self._count)
                    return self._todo.pop(position)
                if not self._in_progress:
                    return None
                self._changed.wait()
            return None

    def answered(self, index: int, answer: DeviceAnswer) -> None:
        """Add the answer to the sample ``index``, which ``take`` returned, to the store."""
        with self._changed:
            if not self.stopped:
                self._store.add(index, answer)
            self._in_progress -= 1
            self._changed.notify_all()

    def give_back(self, index: int, refused_by: str | None = None) -> None:
        """Put a sample back that was not answered. ``refused_by`` is the board that cannot answer it."""
        with self._changed:
            self._todo.append(index)
            if refused_by is not None:
                self._refused[index].add(refused_by)
            self._in_progress -= 1
            self._changed.notify_all()

    def stop(self) -> None:
        """Make ``take`` return None for all boards from now on."""
        with self._changed:
            self.stopped = True
            self._changed.notify_all()
