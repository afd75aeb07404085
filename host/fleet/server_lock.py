"""Keep two servers with the same name from running on one database.

Both would have the same client identifier, and the broker would end the connection of each for that of the other, again
and again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from arenite.errors import UsageError
from arenite.host.fleet.database import Database

#: PostgreSQL needs a moment to notice that a server was killed.
_WAIT_S = 5.0
_INTERVAL_S = 0.2


@contextmanager
def only_server(database: Database, worker: str) -> Iterator[None]:
    """Hold the lock of the server ``worker`` ("" without a name) while the block runs. Raises ``UsageError`` if another
    server of that name runs, and ``DatabaseError``."""
    end = time.monotonic() + _WAIT_S
    while True:
        with database.server_lock(worker) as has_lock:
            if has_lock:
                yield
                return
        if time.monotonic() > end:
            name = f"with --worker {worker}" if worker else "without --worker"
            raise UsageError(
                f"Another `arenite fleet serve` {name} already runs on {database.name}.",
                "Stop that one, or give each server another name with --worker.",
            )
        time.sleep(_INTERVAL_S)
