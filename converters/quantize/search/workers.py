"""Workers that try recipes: this process, several processes on this machine, or an existing Dask cluster.

All workers have the same methods: ``submit`` parameters, ``wait`` for a finished trial, and ``close``.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor
from concurrent.futures import wait as wait_for
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol

from arenite.converters.quantize.search.outcome import TrialOutcome
from arenite.converters.quantize.search.trial import SearchTask, evaluate_recipe
from arenite.errors import ToolError, UsageError

#: The time limit for an answer from a Dask scheduler, in seconds.
_CONNECT_SECONDS = 10


class Workers(Protocol):
    """The interface of workers. ``slots`` is the number of recipes that are tried at the same time."""

    slots: int

    def submit(self, number: int, params: Mapping[str, Any]) -> None:
        """Start to try the recipe with ``params`` as trial ``number``."""
        ...

    def wait(self) -> tuple[int, TrialOutcome]:
        """Wait for a trial to finish, and return its number and outcome. Errors of the trial are raised here."""
        ...

    def close(self) -> None:
        """Stop and drop unfinished trials."""
        ...


class LocalWorker:
    """Runs trials in this process, in the order in which they are submitted, so that every run gives the same
    results."""

    slots = 1

    def __init__(self, task: SearchTask) -> None:
        self._task = task
        self._queue: deque[tuple[int, Mapping[str, Any]]] = deque()

    def submit(self, number: int, params: Mapping[str, Any]) -> None:
        self._queue.append((number, params))

    def wait(self) -> tuple[int, TrialOutcome]:
        number, params = self._queue.popleft()
        return number, evaluate_recipe(self._task, params)

    def close(self) -> None:
        self._queue.clear()


_task: SearchTask | None = None  # the task of this worker process


def _start(task: SearchTask) -> None:
    """Prepare a worker process for ``task``."""
    global _task
    # Ctrl-C sends SIGINT to all processes of the group. Workers ignore it; the parent ends them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _task = task


def _evaluate_here(params: Mapping[str, Any]) -> TrialOutcome:
    """Try a recipe in a worker process."""
    assert _task is not None
    return evaluate_recipe(_task, params)


class ProcessWorkers:
    """Runs trials in ``count`` processes on this machine, each with a copy of the task."""

    def __init__(self, task: SearchTask, count: int) -> None:
        self.slots = count
        # Processes are spawned, because a forked process would not have the threads of LiteRT and NumPy.
        self._pool = ProcessPoolExecutor(
            count, multiprocessing.get_context("spawn"), initializer=_start, initargs=(task,)
        )
        self._running: dict[Future[TrialOutcome], int] = {}

    def submit(self, number: int, params: Mapping[str, Any]) -> None:
        self._running[self._pool.submit(_evaluate_here, dict(params))] = number

    def wait(self) -> tuple[int, TrialOutcome]:
        done, _ = wait_for(self._running, return_when=FIRST_COMPLETED)
        future = min(done, key=lambda f: self._running[f])
        number = self._running.pop(future)
        try:
            return number, future.result()
        except BrokenProcessPool as error:
            raise ToolError(
                "A worker process of the search ended unexpectedly.",
                "Memory may be short: search with fewer workers or samples; the search continues where it stopped.",
            ) from error

    def close(self) -> None:
        if self._running:  # interrupted: do not wait for unfinished trials
            for process in list((self._pool._processes or {}).values()):
                process.terminate()
        self._pool.shutdown(wait=True, cancel_futures=True)


class DaskWorkers:
    """Runs trials on the workers of the Dask scheduler at ``address``. They must have the same version of Arenite."""

    def __init__(self, task: SearchTask, address: str) -> None:
        try:
            import distributed
        except ImportError as error:
            raise UsageError(
                "The package distributed is not installed.", "Install it with pip install 'arenite[dask]'."
            ) from error
        try:
            self._client: Any = distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise UsageError(
                f"There is no Dask scheduler at {address}: {error or 'no answer'}.",
                "Give the address that the scheduler prints, such as tcp://10.0.0.7:8786.",
            ) from error
        self.slots = sum(self._client.nthreads().values())
        if not self.slots:
            self._client.close()
            raise UsageError(
                f"The Dask scheduler at {address} has no workers.", f"Start one: dask worker {address}."
            )
        self._check_workers(address)
        self._as_completed = distributed.as_completed(loop=self._client.loop, raise_errors=False)
        self._task = self._client.scatter(task, broadcast=True, hash=False)
        self._numbers: dict[str, int] = {}

    def _check_workers(self, address: str) -> None:
        versions = self._client.run(_installed_version, on_error="return")
        own_version = _installed_version()
        for worker, version in versions.items():
            if version != own_version:
                self._client.close()
                raise UsageError(
                    f"The Dask worker {worker} does not have the same version of Arenite: {version}.",
                    f"Install Arenite {own_version} on the machines of the workers of {address}.",
                )

    def submit(self, number: int, params: Mapping[str, Any]) -> None:
        future = self._client.submit(evaluate_recipe, self._task, dict(params), pure=False)
        self._numbers[str(future.key)] = number
        self._as_completed.add(future)

    def wait(self) -> tuple[int, TrialOutcome]:
        future = next(self._as_completed)
        number = self._numbers.pop(str(future.key))
        if future.status == "lost" or future.cancelled():
            raise ToolError(
                "The connection to the Dask scheduler was lost.",
                "Start the scheduler again; the search continues where it stopped.",
            )
        return number, future.result()

    def close(self) -> None:
        self._client.close()


def _installed_version() -> str:
    """Return the version of Arenite in the process that runs this function."""
    from importlib.metadata import version

    import arenite.converters.quantize.search.trial  # noqa: F401  (a worker must be able to run it)

    return version("arenite")


def start_workers(task: SearchTask, count: int, address: str | None) -> Workers:
    """Return workers for ``task``: the workers of the Dask cluster at ``address``, or ``count`` workers on this
    machine. Raises ``UsageError`` if the cluster cannot be used or ``count`` is less than 1."""
    if address is not None:
        return DaskWorkers(task, address)
    if count < 1:
        raise UsageError(
            f"A search needs at least one worker, not {count}.", "Give a positive number of workers."
        )
    return LocalWorker(task) if count == 1 else ProcessWorkers(task, count)
