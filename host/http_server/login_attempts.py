"""Limit the attempts to guess a server's token, and report them.

Only different wrong values of one address count. A page that keeps sending the cookie of an earlier token learns
nothing by that, and must not lock its user out.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

#: An address that gave this number of different wrong values within ``WINDOW_S`` seconds must wait for ``WAIT_S``
#: seconds.
MAX_WRONG = 10
WINDOW_S = 300.0
WAIT_S = 60.0
#: The maximum number of addresses that are remembered, the newest ones.
_MAX_NETWORKS = 1024
#: The maximum number of reports within ``WINDOW_S`` seconds, so that a client cannot fill a log.
_MAX_REPORTS = 20


@dataclass
class _Attempts:
    begin_s: float
    waits_until_s: float = 0.0
    #: Keyed hashes of the wrong values, so that no value stays in memory.
    wrong: set[bytes] = field(default_factory=set)


class LoginAttempts:
    """The wrong tokens and cookies of each network (see ``network_of``). ``report`` is called with lines of text for
    people, which never contain the wrong values. ``name`` is the word for the server in these lines. ``clock`` returns
    seconds."""

    def __init__(
        self,
        report: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        name: str = "dashboard",
    ) -> None:
        self._report = report
        self._name = name
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._networks: OrderedDict[str, _Attempts] = OrderedDict()
        self._reports: list[float] = []

    def wait_s(self, network: str) -> float:
        """Return the number of seconds for which ``network`` may not try again; 0 if it may."""
        attempts = self._networks.get(network)
        return max(attempts.waits_until_s - self._clock(), 0.0) if attempts is not None else 0.0

    def failed(self, network: str, given: str) -> None:
        """Count a wrong value that ``network`` gave."""
        now = self._clock()
        attempts = self._networks.get(network)
        if attempts is None or now - attempts.begin_s > WINDOW_S:
            attempts = self._networks[network] = _Attempts(now)
        self._networks.move_to_end(network)
        if len(self._networks) > _MAX_NETWORKS:
            self._networks.popitem(last=False)
        digest = hashlib.blake2b(given.encode("utf-8", "surrogatepass"), key=self._key).digest()
        if digest in attempts.wrong:
            return
        attempts.wrong.add(digest)
        if len(attempts.wrong) == 1:
            self._say(f"The {self._name} refused a wrong token from {network}.")
        elif len(attempts.wrong) >= MAX_WRONG:
            attempts.waits_until_s = now + WAIT_S
            self._say(
                f"The {self._name} refused {len(attempts.wrong)} different tokens from {network}, and refuses all"
                f" of its attempts for {WAIT_S:.0f} s."
            )
            attempts.wrong.clear()

    def _say(self, text: str) -> None:
        now = self._clock()
        self._reports = [at for at in self._reports if now - at < WINDOW_S]
        if len(self._reports) < _MAX_REPORTS:
            self._reports.append(now)
            self._report(text)
            if len(self._reports) == _MAX_REPORTS:
                self._report(f"The {self._name} reports no further attempts for some minutes.")
