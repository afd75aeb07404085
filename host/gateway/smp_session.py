"""A session of an operator with a device: which requests wait, and what was answered."""

from __future__ import annotations

from collections import OrderedDict, deque

from arenite.host.gateway.smp_messages import SmpRequest

#: How many answers are kept for requests that arrive again, and how many requests may wait.
_MAX_ANSWERS, _MAX_WAITING = 64, 32


class SmpSession:
    """Begun by ``operator`` at the time ``now``. Requests with a number below ``first`` are older than the session."""

    def __init__(self, operator: str, name: str, first: int, now: float) -> None:
        self.operator, self.name, self.used = operator, name, now
        self._first = first
        self._waiting: deque[SmpRequest] = deque()
        self._taken: set[int] = set()  # that wait or are carried out
        self._answers: OrderedDict[int, bytes] = OrderedDict()

    def belongs_to(self, operator: str, name: str) -> bool:
        return (self.operator, self.name) == (operator, name)

    def is_over(self, now: float, idle_s: float) -> bool:
        """Return whether the operator has sent nothing for ``idle_s``."""
        return not self._taken and now - self.used > idle_s

    def add(self, request: SmpRequest) -> bytes | None:
        """Let the request wait. If it was carried out before, return its answer. Drop it if it waits already, if it is
        older than the session or than the answers that were kept, or if too many wait."""
        number = request.number
        if number in self._answers:
            return self._answers[number]
        oldest = next(iter(self._answers)) if len(self._answers) == _MAX_ANSWERS else self._first
        if number in self._taken or number < oldest or len(self._waiting) == _MAX_WAITING:
            return None
        self._taken.add(number)
        self._waiting.append(request)
        return None

    def next(self) -> SmpRequest | None:
        """Return the request to carry out now."""
        return self._waiting.popleft() if self._waiting else None

    def finish(self, number: int, answer: bytes, *, is_kept: bool) -> None:
        """Note the answer. Without ``is_kept``, the request may be carried out if it arrives again."""
        self._taken.discard(number)
        if is_kept:
            self._answers[number] = answer
            while len(self._answers) > _MAX_ANSWERS:
                self._answers.popitem(last=False)

    def drop_waiting(self) -> list[SmpRequest]:
        """Forget the requests that wait, and return them."""
        dropped = list(self._waiting)
        self._waiting.clear()
        self._taken -= {request.number for request in dropped}
        return dropped
