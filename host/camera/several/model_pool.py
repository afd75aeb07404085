"""Keep several models in one process under a memory budget; the least recently used model is unloaded first.

A model that was unloaded is loaded again when it is needed. The time of each load is recorded, because it is the cost
of the budget. The runtime measures the memory of its model. That memory grows with the first invocation, so it is read
each time. It is unknown until the model was loaded once, so the budget can be exceeded while a model loads.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from arenite.c_library import c_library
from arenite.errors import UsageError
from arenite.host.camera.runtimes.base import Runtime


@dataclass(frozen=True, slots=True)
class ModelLoad:
    """One load of the model with the key ``key``: its time in ms and its memory in bytes. ``again`` is True if the
    model had been loaded before. ``evicted`` has the keys of the models that were unloaded to make room."""

    key: str
    ms: float
    bytes: int
    again: bool
    evicted: tuple[str, ...]


@dataclass(slots=True)
class _PoolEntry:
    """A loaded model. ``users`` is the number of ``use`` blocks that are using it."""

    runtime: Runtime
    users: int = 0


class ModelPool:
    """Loads and unloads models. A key identifies a model, and ``opener`` opens the runtime of a key. Threads may share
    a pool.

    The model that ``use`` yields stays loaded until the end of the block. The model that ``get`` returns may be
    unloaded by the next call.

    ``guess`` returns the expected size in bytes of a model that was never loaded, so that other models are unloaded
    before it is loaded. Without ``guess``, the first load of a model can exceed the budget for a short time.
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
        # The largest measured size of each model in bytes, also of unloaded models.
        self._sizes: dict[str, int] = {}
        self._lock = threading.RLock()

    def get(self, key: str) -> Runtime:
        """Return the model with the key ``key``. Load it if necessary, and make it the most recently used model.

        Raises the errors of ``opener``. Raises ``UsageError`` if the model alone exceeds the budget, or if the models
        in use leave no room for it.
        """
        with self._lock:
            if key in self._loaded:
                self._loaded.move_to_end(key)
                self._fit(key)  # a model may have grown since the last call
                return self._loaded[key].runtime
            return self._load(key)

    @contextmanager
    def use(self, key: str) -> Iterator[Runtime]:
        """Yield the model as ``get`` returns it, and do not unload it before the end of the block."""
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
        """The bytes of all loaded models."""
        with self._lock:
            return sum(self._size(key) for key in self._loaded)

    @property
    def loaded(self) -> tuple[str, ...]:
        """The keys of the loaded models, least recently used first."""
        with self._lock:
            return tuple(self._loaded)

    def close(self) -> None:
        """Close all models, also the models in use."""
        with self._lock:
            while self._loaded:
                self._loaded.popitem()[1].runtime.close()

    def to_json(self) -> dict[str, Any]:
        """Return the size in bytes and the load times in ms of each model, for the result and the dashboard."""
        with self._lock:
            models = {}
            for key in dict.fromkeys([load.key for load in self.loads]):
                own_loads = [load for load in self.loads if load.key == key]
                reload_ms = [load.ms for load in own_loads if load.again]
                models[key] = {
                    "bytes": self._sizes.get(key, 0),
                    "loaded": key in self._loaded,
                    "first_load_ms": own_loads[0].ms,
                    "reloads": len(reload_ms),
                    "reload_ms": sum(reload_ms) / len(reload_ms) if reload_ms else None,
                }
            return {
                "budget": self.budget_bytes,
                "used": self.used_bytes,
                "evictions": self.evictions,
                "models": models,
            }

    def _load(self, key: str) -> Runtime:
        again = key in self._sizes
        self._check_size(key, self._sizes.get(key, 0))
        expected = self._sizes[key] if again else self._guess(key) if self._guess is not None else 0
        # A model is never refused because of a guess. At most all other models are unloaded.
        evicted = self._evict(max(self.budget_bytes - expected, 0), key, hard=again)
        _give_back()
        start = time.perf_counter()
        runtime = self._opener(key)
        load_ms = 1000 * (time.perf_counter() - start)
        self._loaded[key] = _PoolEntry(runtime)
        try:
            evicted += self._fit(key)
        except UsageError:
            del self._loaded[key]
            runtime.close()
            _give_back()
            raise
        self.loads.append(ModelLoad(key, load_ms, self._size(key), again, tuple(evicted)))
        return runtime

    def _fit(self, key: str) -> list[str]:
        """Unload models other than ``key`` until the budget is kept, and return their keys. Raises ``UsageError``."""
        self._check_size(key, self._size(key))
        return self._evict(self.budget_bytes, key)

    def _check_size(self, key: str, size: int) -> None:
        """Raise ``UsageError`` if ``size`` bytes are more than the whole budget."""
        if size > self.budget_bytes:
            raise UsageError(
                f"Model {key} needs {size:,} bytes, but the memory budget is {self.budget_bytes:,}.",
                "Raise the budget, or use a smaller or an int8 model.",
            )

    def _evict(self, limit: int, wanted: str, hard: bool = True) -> list[str]:
        """Unload models, least recently used first, until at most ``limit`` bytes are used, and return their keys.

        Models in use and the model ``wanted`` stay loaded. If they use more than ``limit`` bytes, raise ``UsageError``,
        or return if ``hard`` is False.
        """
        evicted = []
        while self.used_bytes > limit:
            victim = next((k for k, entry in self._loaded.items() if not entry.users and k != wanted), None)
            if victim is None and not hard:
                break
            if victim is None:
                busy = ", ".join(k for k in self._loaded if k != wanted)
                raise UsageError(
                    f"Model {wanted} does not fit in memory together with {busy}, which use {self.used_bytes:,} of "
                    f"{self.budget_bytes:,} bytes.",
                    "Raise the memory budget, or use fewer or smaller models at a time.",
                )
            self._loaded.pop(victim).runtime.close()
            self.evictions += 1
            evicted.append(victim)
        if evicted:
            _give_back()
        return evicted

    def _size(self, key: str) -> int:
        size = max(self._sizes.get(key, 0), self._loaded[key].runtime.resident_bytes)
        self._sizes[key] = size
        return size


def _give_back() -> None:
    """Let the allocator return freed pages to the system, because the budget limits the memory that the process takes
    from the system. Without this, a model that reuses old pages would also seem too small where sizes are measured in
    pages."""
    trim = getattr(c_library(), "malloc_trim", None)  # glibc only
    if trim is not None:
        trim(0)
