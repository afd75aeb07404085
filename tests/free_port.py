"""Choose a TCP port for a program that cannot choose one itself, or for a server that returns at the same port."""

from __future__ import annotations

import contextlib
import random
import socket


def free_port() -> int:
    """Return a TCP port that no program uses. It is below the ports that the system gives to programs that leave the
    choice to it, so no other test gets it meanwhile."""
    while True:
        port = random.SystemRandom().randrange(10_000, 32_768)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
