"""Run generated C code on this computer. It is compiled from the firmware's sources by the host's C compiler.

Many models share one build, so a fuzzer starts the compiler once for about a hundred graphs. The engine is compiled
again only when its sources change. The compiled engine is stored in the cache folder.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from arenite.converters.graph.model import DTYPES
from arenite.errors import ToolError
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.generator.model_source import model_sources
from arenite.firmware.sources import ENGINE
from arenite.processes import run as run_command

WARNINGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wshadow"]


#: Bytes of the guard words in front of the arena (AR_GUARD_WORDS words of four bytes).
_GUARD_BYTES = 16


# These structures mirror ar_io, ar_arena_part and ar_model of arenite.h.
class _Io(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_uint32), ("dtype", ctypes.c_uint32)]


class _Part(ctypes.Structure):
    _fields_ = [("guards", ctypes.c_void_p), ("bytes", ctypes.c_uint32)]


_LAYER = ctypes.CFUNCTYPE(None)


class _Model(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("hash", ctypes.c_uint8 * 8),
        ("inputs", ctypes.POINTER(_Io)),
        ("outputs", ctypes.POINTER(_Io)),
        ("layers", ctypes.POINTER(ctypes.c_void_p)),
        ("reset", ctypes.c_void_p),
        ("guards", ctypes.c_void_p),
        ("arena_bytes", ctypes.c_uint32),
        ("layer_count", ctypes.c_uint16),
        ("input_count", ctypes.c_uint8),
        ("output_count", ctypes.c_uint8),
        ("stream", ctypes.c_void_p),
        ("slow", ctypes.POINTER(_Part)),
    ]


#: Replaces the functions that start and await the second core. Here, the two halves of a layer run one after the other
#: on one core. ``ar_second_first`` chooses their order. Halves that share no memory give the same result in either
#: order.
_ONE_CORE = """
int ar_second_first;
static ar_layer_fn ar_waiting;
void ar_fork(ar_layer_fn work)
{
    ar_waiting = ar_second_first ? 0 : work;
    if (ar_second_first) {
        work();
    }
}
void ar_join(void)
{
    if (ar_waiting) {
        ar_waiting();
    }
}
"""


class NativeModel:
    """A generated model in a shared library that is loaded into this process."""

    def __init__(self, library: ctypes.CDLL, generated: Generated) -> None:
        self._model = _Model.in_dll(library, f"{generated.prefix}model")
        layers = [self._model.layers[i] for i in range(self._model.layer_count)]
        self._layers = [_LAYER(layer) for layer in layers if layer]
        self._reset = _LAYER(self._model.reset) if self._model.reset else None
        self._rows = None
        if generated.streamed_input is not None:
            names = ("begin_rows", "next_row", "row_ready")
            self._rows = [getattr(library, f"{generated.prefix}model_{name}") for name in names]
            self._rows[1].restype = ctypes.c_void_p
            tensor = generated.model.main.tensors[generated.model.main.inputs[0]]
            self._row_bytes = tensor.nbytes // tensor.shape[1]
        # In every second run of a model for two cores, the halves of the second core run first.
        self._order = ctypes.c_int.in_dll(library, "ar_second_first") if generated.parallel else None
        graph = generated.model.main
        self._outputs = [graph.tensors[i] for i in graph.outputs]

    def fill_arena(self, byte: int) -> None:
        """Fill the complete arena with ``byte``. A kernel that reads stale bytes then gives a wrong output."""
        ctypes.memset(self._model.guards + _GUARD_BYTES, byte, self._model.arena_bytes)
        if self._model.slow:
            part = self._model.slow[0]
            ctypes.memset(part.guards + _GUARD_BYTES, byte, part.bytes)

    def run(self, inputs: Sequence[np.ndarray], *, reset: bool = True) -> list[np.ndarray]:
        """Run one inference on arrays with the shapes and types of the model's inputs, and return one array per output.
        ``reset`` first sets the model's variables to their initial values."""
        if reset and self._reset is not None:
            self._reset()
        for k, value in enumerate(inputs):
            io = self._model.inputs[k]
            data = np.ascontiguousarray(value).tobytes()
            if len(data) != io.bytes:
                raise ValueError(f"input {k} has {len(data)} bytes, expected {io.bytes}")
            if self._rows is not None:
                self._stream_rows(data)
            else:
                ctypes.memmove(io.data, data, len(data))
        if self._order is not None:
            self._order.value ^= 1
        for layer in self._layers:
            layer()
        results = []
        for k, tensor in enumerate(self._outputs):
            io = self._model.outputs[k]
            raw = ctypes.string_at(io.data, io.bytes)
            dtype = DTYPES[tensor.dtype]
            assert dtype is not None
            results.append(np.frombuffer(raw, dtype).reshape(tensor.shape))
        return results

    def _stream_rows(self, data: bytes) -> None:
        """Send the input row by row, as a camera does."""
        assert self._rows is not None
        begin, next_slot, ready = self._rows
        begin()
        while (slot := next_slot()) is not None:
            ctypes.memmove(slot, data[: self._row_bytes], self._row_bytes)
            data = data[self._row_bytes :]
            ready()
        if data:
            raise ValueError(f"the model did not read {len(data)} bytes of the input")


def build(models: Sequence[Generated], cache: Path, *, keep: bool = True) -> list[NativeModel]:
    """Compile ``models``, each of which has its own prefix of C names, into one library in ``cache``, and load it.
    ``keep`` leaves the library in ``cache``. Return the loaded models in the same order.

    Raises ``ToolError`` with the compiler's first message when a source does not compile.
    """
    cache.mkdir(parents=True, exist_ok=True)
    text = combined_source(models)
    tag = hashlib.sha256((text + _engine_digest()).encode()).hexdigest()[:16]
    library = cache / f"models-{tag}.so"
    if not library.exists():
        source = cache / f"models-{tag}-{os.getpid()}.c"
        source.write_text(text)
        engine = engine_archive(cache)
        temporary = f"{library}.{os.getpid()}"
        flags = ["-O0", "-fPIC", "-shared", "-DAR_HOST", *ENGINE.include_flags]
        _run_compiler([*WARNINGS, *flags, str(source), str(engine), "-o", temporary])
        os.replace(temporary, library)
        source.unlink()
    loaded = ctypes.CDLL(str(library))
    if not keep:
        library.unlink(missing_ok=True)
    return [NativeModel(loaded, g) for g in models]


def combined_source(models: Sequence[Generated]) -> str:
    """Return the sources of all models as one C file, because starting the compiler takes much longer than compiling
    a model."""
    parts = []
    for g in models:
        files = model_sources(g)
        # Only the macro for arena addresses differs between models.
        parts.append("#undef AT")
        for name in ("model.h", "weights.h", "weights.c", "model.c"):
            lines = files[g.prefix + name].splitlines()
            parts += [line for line in lines if not any(f'#include "{own}"' in line for own in files)]
    return "\n".join(parts) + "\n" + (_ONE_CORE if any(g.parallel for g in models) else "")


def engine_archive(cache: Path) -> Path:
    """Return the engine as a static library. A source is compiled again only if it or a header has changed."""
    archive = cache / f"engine-{_engine_digest()[:16]}.a"
    if archive.exists():
        return archive
    headers = _digest_of(ENGINE.paths(".h"))
    folder = cache / "objects"
    folder.mkdir(parents=True, exist_ok=True)
    objects = []
    for source in ENGINE.paths(".c"):
        obj = folder / f"{source.stem}-{_digest_of([source], headers)[:16]}.o"
        if not obj.exists():
            partial = f"{obj}.{os.getpid()}"
            options = [*WARNINGS, "-O2", "-fPIC", "-DAR_HOST", *ENGINE.include_flags]
            _run_compiler([*options, "-c", str(source), "-o", partial])
            os.replace(partial, obj)
        objects.append(str(obj))
    temporary = f"{archive}.{os.getpid()}"
    subprocess.run(["ar", "rcs", temporary, *objects], check=True)
    os.replace(temporary, archive)
    return archive


def _engine_digest() -> str:
    return _digest_of(ENGINE.paths(".c", ".h"))


def _digest_of(paths: Sequence[Path], start: str = "") -> str:
    digest = hashlib.sha256(start.encode())
    for path in paths:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _run_compiler(arguments: list[str]) -> None:
    compiler = os.environ.get("CC", "gcc")
    try:
        process = run_command([compiler, *arguments], capture_output=True, text=True)
    except FileNotFoundError as error:
        raise ToolError(
            f"The C compiler '{compiler}' is not installed.", "Install gcc, or set CC to another compiler."
        ) from error
    if process.returncode:
        message = next(
            (line for line in process.stderr.splitlines() if "error" in line), process.stderr[:500]
        )
        raise ToolError(
            f"The host compiler failed: {message}", f"Run: {compiler} {' '.join(arguments[:6])} …"
        )
