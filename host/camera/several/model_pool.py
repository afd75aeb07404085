"""Several models in one process under a memory budget: loaded when asked for, least recently used out first.

Time-multiplexing: what was thrown out is loaded again on demand, and how long that took is on record, because it is
what a budget costs. A model's size is what the runtime measured of itself, which grows with its first invocation, so it
is asked anew each time; until a model was loaded once its size is unknown, and the budget can be exceeded while it
loads.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from arenite.errors import UsageError
from arenite.host.camera.runtimes.base import Runtime


@dataclass(frozen=True, slots=True)
class ModelLoad:
    """``again``: it had been loaded before and was thrown out; ``evicted``: what had to go for it."""

    key: str
    ms: float
    bytes: int
    again: bool
    evicted: tuple[str, ...]


@dataclass(slots=True)
class _PoolEntry:
    runtime: Runtime
    users: int = 0


class ModelPool:
    """``opener`` makes the runtime of a key. Threads may share a pool.

    A model taken by ``use`` stays until it is given back; one taken by ``get`` alone may go with the next call.

    ``guess``: bytes of a model that was never loaded, for which room is made first. Without it the first load of a
    model can exceed the budget until it is done.
    """

    def __init__(
        self, budget_bytes: int, opener: Callable[[str], Runtime], guess: Callable[[str], int] | None = None
    ) -> None:
        self.budget_bytes = budget_bytes
        self._guess = guess
        self.loads: list[ModelLoad] = []
        self.evictions = 0
        self._opener = opener
        self._loaded: OrderedDict[str, _PoolEntry] = OrderedDict()  # least recently used first
        self._sizes: dict[str, int] = {}  # largest seen, also of models that are out
        self._lock = threading.RLock()

    def get(self, key: str) -> Runtime:
        """The model, loaded if need be and now the most recently used.

        Raises ``UsageError`` when it cannot fit: it alone is over the budget, or those in use leave no room; and
        whatever ``opener`` raises.
        """
        with self._lock:
            if key in self._loaded:
                self._loaded.move_to_end(key)
                self._fit(key)  # it, or another, may have grown since
                return self._loaded[key].runtime
            return self._load(key)

    @contextmanager
    def use(self, key: str) -> Iterator[Runtime]:
        """``get``, and safe from eviction until the end of the block."""
        with self._lock:
            runtime = self.get(key)
            entry = self._loaded[key]
            entry.users += 1
        try:
            yield runtime
        finally:
            with self._lock:
                entry.users -= 1

    @property
    def used_bytes(self) -> int:
        """Of all models that are loaded."""
        with self._lock:
            return sum(self._size(key) for key in self._loaded)

    @property
    def loaded(self) -> tuple[str, ...]:
        """Least recently used first."""
        with self._lock:
            return tuple(self._loaded)

    def close(self) -> None:
        """Closes all models, used or not."""
        with self._lock:
            while self._loaded:
                self._loaded.popitem()[1].runtime.close()

    def to_json(self) -> dict[str, Any]:
        """For the summary and the dashboard: per model its size and what loading cost; sizes in bytes, times in ms."""
        with self._lock:
            models = {}
            for key in dict.fromkeys([load.key for load in self.loads]):
                own = [load for load in self.loads if load.key == key]
                again = [load.ms for load in own if load.again]
                models[key] = {
                    "bytes": self._sizes.get(key, 0),
                    "loaded": key in self._loaded,
                    "first_load_ms": own[0].ms,
                    "reloads": len(again),
                    "reload_ms": sum(again) / len(again) if again else None,
                }
            return {
                "budget": self.budget_bytes,
                "used": self.used_bytes,
                "evictions": self.evictions,
                "models": models,
            }

    def _load(self, key: str) -> Runtime:
        again = key in self._sizes
        self._refuse(key, self._sizes.get(key, 0))
        expected = self._sizes[key] if again else self._guess(key) if self._guess is not None else 0
        # A guess alone never refuses a model: at most everything else goes.
        evicted = self._evict(max(self.budget_bytes - expected, 0), key, hard=again)
        _give_back()
        start = time.perf_counter()
        runtime = self._opener(key)
        taken = 1000 * (time.perf_counter() - start)
        self._loaded[key] = _PoolEntry(runtime)
        try:
            evicted += self._fit(key)
        except UsageError:
            del self._loaded[key]
            runtime.close()
            _give_back()
            raise
        self.loads.append(ModelLoad(key, taken, self._size(key), again, tuple(evicted)))
        return runtime

    def _fit(self, key: str) -> list[str]:
        """Throw out what is over the budget, but not ``key``. Raises ``UsageError``."""
        self._refuse(key, self._size(key))
        return self._evict(self.budget_bytes, key)

    def _refuse(self, key: str, size: int) -> None:
        if size > self.budget_bytes:
            raise UsageError(
                f"Model {key} needs {size:,} bytes, and the memory budget is {self.budget_bytes:,}.",
                "Raise the budget, or use a smaller or an int8 model.",
            )

    def _evict(self, limit: int, wanted: str, hard: bool = True) -> list[str]:
        """Least recently used first, until all that is left is at most ``limit``; those in use and ``wanted`` stay.
        Raises ``UsageError`` when that is impossible; if not ``hard``, goes as far as it can."""
        gone = []
        while self.used_bytes > limit:
            victim = next((k for k, entry in self._loaded.items() if not entry.users and k != wanted), None)
            if victim is None and not hard:
                break
            if victim is None:
                busy = ", ".join(k for k in self._loaded if k != wanted)
                raise UsageError(
                    f"Model {wanted} does not fit beside {busy}, in use with {self.used_bytes:,} of "
                    f"{self.budget_bytes:,} bytes.",
                    "Raise the memory budget, or use fewer or smaller models at a time.",
                )
            self._loaded.pop(victim).runtime.close()
            self.evictions += 1
            gone.append(victim)
        if gone:
            _give_back()
        return gone

    def _size(self, key: str) -> int:
        size = max(self._sizes.get(key, 0), self._loaded[key].runtime.resident_bytes)
        self._sizes[key] = size
        return size


def _give_back() -> None:
    """Let the allocator return freed pages to the system: the budget is of what the process takes from others. Where
    sizes are measured by pages, a model that gets old ones would also seem too small."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc only
    if trim is not None:
        trim(0)
