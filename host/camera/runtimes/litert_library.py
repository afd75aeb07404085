"""Load LiteRT's C library through ctypes.

This takes 1 ms and 8 MB of memory; importing LiteRT's Python package would take 100 ms and 18 MB.

The declarations follow the headers in ``litert/c`` of github.com/google-ai-edge/LiteRT (Apache-2.0), v2.1.6 to
v2.2.0 and later. Before v2.1.6, some functions of the same names had other arguments. ``LiteRtCreateModelFromFd`` was
added in v2.1.6, so a library without this function is refused, and ``stock_interpreter.py`` is used instead.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import sys
import threading
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

CPU, GPU, NPU = 1, 2, 4  # LiteRtHwAccelerators
HOST_MEMORY = 1  # kLiteRtTensorBufferTypeHostMemory
LOCK_READ, LOCK_WRITE = 0, 1
ALIGNMENT = 64  # LITERT_HOST_MEMORY_BUFFER_ALIGNMENT

#: Values of LiteRtEnvOptionTag.
COMPILER_PLUGINS, DISPATCH_LIBRARIES, RUNTIME_LIBRARIES, ACCELERATORS, SEVERITY = 0, 1, 22, 24, 25
_INT, _STRING = 2, 8  # values of LiteRtAnyType
_SEVERITY_ERROR = 3

STATUS = {
    1: "invalid argument", 2: "out of memory", 3: "runtime failure", 4: "missing input tensor", 5: "unsupported",
    6: "not found", 7: "time-out", 8: "wrong version", 9: "unknown error", 10: "already exists", 100: "cancelled",
    500: "file cannot be read", 501: "invalid flatbuffer", 502: "a library cannot be loaded", 503: "serialization",
    504: "compilation failed", 1000: "index out of bounds", 1001: "invalid type", 1002: "invalid graph",
}  # fmt: skip

#: Maps values of LiteRtElementType to NumPy's names, for the types that the loop supports.
DTYPES = {
    1: "float32", 2: "int32", 3: "uint8", 4: "int64", 6: "bool", 7: "int16", 9: "int8", 10: "float16", 11: "float64",
    13: "uint64", 16: "uint32", 17: "uint16",
}  # fmt: skip

_REQUIRED_FUNCTIONS = (
    "LiteRtCreateModelFromFd", "LiteRtCreateEnvironment", "LiteRtCreateModelFromFile", "LiteRtCreateCompiledModel",
    "LiteRtCreateOpaqueOptions", "LiteRtCreateManagedTensorBufferFromRequirements", "LiteRtGetTensorBufferHostMemory",
    "LiteRtGetCompiledModelOutputTensorLayouts", "LiteRtCompiledModelResizeInputTensorNonStrict",
    "LiteRtGetCompiledModelInputTensorLayout", "LiteRtGetTensorIndex", "LiteRtRunCompiledModel",
    "LiteRtCompiledModelGetErrorMessages",
)  # fmt: skip

#: Patterns for all lines that the loggers of LiteRT and abseil write, and for their lines that are only informative.
_LOG_LINE = re.compile(r"(INFO|VERBOSE|WARNING|ERROR): |[IWEF]\d{4} ")
_INFO_LINE = re.compile(r"(INFO|VERBOSE): |I\d{4} ")

_STDERR_LOCK = threading.RLock()

Handle = ctypes.c_void_p
Size = ctypes.c_size_t


class _Value(ctypes.Union):
    """The members of the union in LiteRtAny that are used here."""

    _fields_ = (("integer", ctypes.c_int64), ("text", ctypes.c_char_p))


class _Any(ctypes.Structure):
    """The C structure LiteRtAny, 16 bytes."""

    _fields_ = (("type", ctypes.c_int), ("value", _Value))


class EnvironmentOption(ctypes.Structure):
    """The C structure LiteRtEnvOption, 24 bytes."""

    _fields_ = (("tag", ctypes.c_int), ("any", _Any))


class Layout(ctypes.Structure):
    """The C structure LiteRtLayout, 68 bytes. The low seven bits of ``bits`` are the number of dimensions."""

    _fields_ = (
        ("bits", ctypes.c_uint32),
        ("dimensions", ctypes.c_int32 * 8),
        ("strides", ctypes.c_uint32 * 8),
    )

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.dimensions[: self.bits & 127])


class TensorType(ctypes.Structure):
    """The C structure LiteRtRankedTensorType, 72 bytes."""

    _fields_ = (("element", ctypes.c_int), ("layout", Layout))


class PerTensorQuantization(ctypes.Structure):
    """The C structure LiteRtQuantizationPerTensor, 16 bytes."""

    _fields_ = (("scale", ctypes.c_float), ("zero_point", ctypes.c_int64))


OpaqueDeleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class LiteRtError(Exception):
    """A call of LiteRT failed. ``status`` is the status that it returned, and ``message`` is LiteRT's text about it."""

    def __init__(self, function: str, status: int, message: str = "") -> None:
        super().__init__(function, status)
        self.status = status
        self.message = message or f"{STATUS.get(status, f'status {status}')} ({function})"


class Library:
    """The loaded library. ``call``, ``make`` and ``size`` call a function and raise ``LiteRtError`` if it fails."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.c = ctypes.CDLL(str(path))
        self._options: list[Any] = []
        missing = [name for name in _REQUIRED_FUNCTIONS if not hasattr(self.c, name)]
        if missing:
            raise OSError(f"this version of {path.name} has no function {missing[0]}")

    def call(self, function: str, *arguments: Any) -> None:
        status = getattr(self.c, function)(*arguments)
        if status:
            raise LiteRtError(function, status)

    def make(self, function: str, *arguments: Any) -> Handle:
        """Return the handle that ``function`` writes to its last argument."""
        handle = Handle()
        self.call(function, *arguments, ctypes.byref(handle))
        return handle

    def size(self, function: str, *arguments: Any) -> int:
        """Return the size that ``function`` writes to its last argument."""
        size = Size()
        self.call(function, *arguments, ctypes.byref(size))
        return size.value

    def environment(self, accelerators: int, folders: dict[int, str]) -> Handle:
        """Create an environment with only the given ``accelerators``, because by default LiteRT also loads the GPU
        accelerator, which takes 19 MB. ``folders`` maps option tags to the folders of libraries."""
        rows = [
            EnvironmentOption(ACCELERATORS, _Any(_INT, _Value(integer=accelerators))),
            EnvironmentOption(SEVERITY, _Any(_INT, _Value(integer=_SEVERITY_ERROR))),
        ]
        rows += [
            EnvironmentOption(tag, _Any(_STRING, _Value(text=os.fsencode(folder))))
            for tag, folder in folders.items()
        ]
        options = (EnvironmentOption * len(rows))(*rows)
        self._options.append(options)  # LiteRT does not promise to copy the texts
        return self.make("LiteRtCreateEnvironment", len(rows), options)


@lru_cache(1)
def package_folder() -> Path:
    """Return the folder of the package ai-edge-litert, without importing it. Raises ``OSError`` if it is not
    installed."""
    spec = importlib.util.find_spec("ai_edge_litert")
    if spec is None or not spec.submodule_search_locations:
        raise OSError("ai-edge-litert is not installed")
    return Path(next(iter(spec.submodule_search_locations)))


@lru_cache(1)
def library() -> Library:
    """Return LiteRT's C library. Raises ``OSError`` if there is none, or if it cannot be used."""
    suffix = {"darwin": "libLiteRt.dylib", "win32": "libLiteRt.dll"}.get(sys.platform, "libLiteRt.so")
    return Library(package_folder() / suffix)


def _scratch_file() -> Any:
    """Return a temporary file, in memory if the system supports that."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("stderr"), "w+b", buffering=0)
    import tempfile

    return tempfile.TemporaryFile(buffering=0)


def with_captured_log(work: Callable[[], Any]) -> tuple[Any, str]:
    """Run ``work``. Return its result and the text that C code wrote to standard error, without informative lines.

    LiteRT explains some failures only in this text. An exception of ``work`` is raised again; a ``LiteRtError`` gets
    the text in its ``message``.
    """
    with _STDERR_LOCK:  # two threads at once would replace each other's standard error
        return _run_and_capture(work)


def _run_and_capture(work: Callable[[], Any]) -> tuple[Any, str]:
    try:
        stderr_copy = os.dup(2)
    except OSError:  # a service without standard error
        return work(), ""
    try:
        with _scratch_file() as file:
            os.dup2(file.fileno(), 2)
            failed: LiteRtError | None = None
            result = None
            try:
                result = work()
            except LiteRtError as error:
                failed = error
            finally:
                os.dup2(stderr_copy, 2)
            file.seek(0)
            lines = file.read().decode("utf-8", "replace").splitlines()
    finally:
        os.close(stderr_copy)
    log = [line for line in lines if _LOG_LINE.match(line) and not _INFO_LINE.match(line)]
    others = [line for line in lines if line.strip() and not _LOG_LINE.match(line)]
    if failed is None and others:  # another thread wrote them at the same time
        os.write(2, ("\n".join(others) + "\n").encode())
    elif failed is not None:
        log += others
    if failed is not None:
        if log:
            failed.message = (
                f"{failed.message}: {' '.join(line.removeprefix('ERROR: ') for line in log[-3:])}"
            )
        raise failed
    return result, "\n".join(log)
