"""Limit the memory of this process, in addition to the limit with which Arenite started it.

Not every size of a model can be known before the framework reads it. A size that is far too large for the model's file
then ends in an error of the framework, before the computer's memory runs out. Only Linux has such a limit.
"""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: What the frameworks need to load a model in addition to its weights, and how often a weight is in memory meanwhile.
_LOADING_BYTES, _COPIES = 768 << 20, 6

#: What a conversion needs in addition: unrolled recurrent layers make large graphs of small files.
_CONVERSION_BYTES, _CONVERSION_COPIES = 4 << 30, 32

#: How many threads the frameworks start for each processor. The stack of a thread counts as its process's memory even
#: while it is empty.
_THREADS_PER_PROCESSOR = 8

#: The size of a thread's stack if the system does not limit it.
_STACK_BYTES = 8 << 20

_NO_MEMORY = re.compile(r"bad_alloc|OOM when allocating|can't allocate memory|not enough memory")


def limit_conversion(weight_bytes: int) -> None:
    """Limit the memory for the conversion of a model with ``weight_bytes`` bytes of weights."""
    _limit(_CONVERSION_BYTES + _CONVERSION_COPIES * weight_bytes)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether ``error`` of a framework means that the memory was not enough."""
    return isinstance(error, MemoryError) or bool(_NO_MEMORY.search(str(error)))


@contextmanager
def limited_loading(weight_bytes: int) -> Iterator[None]:
    """Limit the memory while the framework loads a model with ``weight_bytes`` bytes of weights."""
    before = _limit(_LOADING_BYTES + _COPIES * weight_bytes)
    try:
        yield
    finally:
        _set(before)


def thread_bytes() -> int:
    """Return the size of the stacks of all threads that the frameworks start on this computer."""
    if sys.platform != "linux":
        return 0
    import resource

    stack = resource.getrlimit(resource.RLIMIT_STACK)[0]
    stack = _STACK_BYTES if stack == resource.RLIM_INFINITY else stack
    return _THREADS_PER_PROCESSOR * (os.cpu_count() or 1) * stack


def _limit(more: int) -> Any:
    """Permit this process ``more`` bytes than it has now, and its threads. Return the limit from before."""
    if sys.platform != "linux":
        return None
    import resource

    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        now = next((int(line.split()[1]) << 10 for line in file if line.startswith("VmData:")), 0)
    limit = now + more + thread_bytes()
    _set(limit if hard == resource.RLIM_INFINITY else min(limit, hard))
    return before


def _set(limit: Any) -> None:
    if limit is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.getrlimit(resource.RLIMIT_DATA)[1]))
