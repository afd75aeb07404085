"""The processes of frameworks get no more memory than the size of a model explains."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from arenite.converters.importers import subprocesses

_PROGRAM = """
import resource
from memory_limit import is_out_of_memory, limit_conversion, limited_loading, thread_bytes

before = resource.getrlimit(resource.RLIMIT_DATA)
with limited_loading(1 << 20):
    bytearray(1 << 29)
    try:
        bytearray((1 << 30) + thread_bytes())
        raise SystemExit("1 GiB for a model of 1 MiB")
    except MemoryError as error:
        assert is_out_of_memory(error)
assert resource.getrlimit(resource.RLIMIT_DATA) == before
with limited_loading(1 << 28):
    bytearray(1 << 30)
limit_conversion(0)
small = resource.getrlimit(resource.RLIMIT_DATA)[0]
limit_conversion(1 << 20)  # the next model
assert small + (16 << 20) < resource.getrlimit(resource.RLIMIT_DATA)[0]
assert is_out_of_memory(RuntimeError("OOM when allocating tensor with shape[9] on CPU"))
assert not is_out_of_memory(RuntimeError("no such layer"))
"""


_THREADS = """
import os
import threading
from memory_limit import limited_loading

os.cpu_count = lambda: 64
end = threading.Event()
threads = [threading.Thread(target=end.wait) for _ in range(192)]
with limited_loading(1 << 20):
    try:
        for thread in threads:
            thread.start()
    finally:
        end.set()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of data")
@pytest.mark.parametrize("program", [_PROGRAM, _THREADS], ids=["arrays", "threads"])
def test_a_model_gets_memory_by_its_size_and_for_the_threads_of_all_processors(program: str) -> None:
    folder = Path(subprocesses.__file__).parent
    process = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
