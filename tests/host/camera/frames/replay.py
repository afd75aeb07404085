"""Cases for another machine's build of the C code: written to a file, run there, compared here. See replay.c."""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from arenite.converters.processing.image.plan import ImagePlan
from arenite.converters.processing.native import library as native
from arenite.converters.processing.native import structs as c
from arenite.converters.processing.native.c_sources import PROCESSING
from arenite.converters.processing.native.compiled_preprocessing import CompiledImage
from arenite.converters.processing.specification.pixel_formats import planes_of

HERE = Path(__file__).parent


def _pointers(kind: type[ctypes.Structure], at: int = 0) -> Iterator[int]:
    """Offsets of the fields that are pointers."""
    for name, field in kind._fields_:  # type: ignore[misc]
        here = at + getattr(kind, name).offset
        if field is ctypes.c_void_p:
            yield here
        elif isinstance(field, type) and issubclass(field, ctypes.Structure):
            yield from _pointers(field, here)


def _blocks(data: np.ndarray, plan: ImagePlan) -> Iterator[bytes]:
    at = 0
    for row, rows in planes_of(plan.format, plan.width, plan.height):
        yield struct.pack("<II", row, row * rows) + data[at : at + row * rows].tobytes()
        at += row * rows


def record(compiled: CompiledImage, data: np.ndarray) -> bytes:
    """One case: the plan as it was prepared here, and the picture."""
    raw = bytes(compiled._host)
    functions = [(getattr(c.ImageStruct, field).offset, name) for field, name in compiled.names.items()]
    if compiled.unpack:
        functions.append((c.HostImageStruct.unpack.offset, compiled.unpack))
    names = [struct.pack("<I64s", at, name.encode()) for at, name in functions]
    known = {array.ctypes.data: array for array in compiled.tables}
    found = []
    for at in set(_pointers(c.HostImageStruct)) - {at for at, _ in functions}:
        (address,) = struct.unpack_from("<Q", raw, at)
        if address:
            found.append(struct.pack("<II", at, known[address].nbytes) + known[address].tobytes())
    blocks = list(_blocks(data, compiled.plan))
    nbytes = int(np.prod(compiled.shape)) * np.dtype(compiled.plan.dtype).itemsize
    return b"".join(
        [
            struct.pack("<I", len(raw)) + raw,
            struct.pack("<I", len(functions)),
            *names,
            struct.pack("<I", len(found)),
            *found,
            struct.pack("<I", len(blocks)),
            *blocks,
            struct.pack("<II", compiled.scratch_bytes, nbytes),
        ]
    )


def replayed(
    folder: Path,
    compiler: Sequence[str],
    runner: Sequence[str],
    cases: Sequence[tuple[ImagePlan, np.ndarray]],
) -> list[bytes]:
    """The results of ``cases`` from the C code built by ``compiler`` and run by ``runner``."""
    library = native.library()
    assert library is not None
    parts = ("image", "column", "finish", "vector")
    sources = sorted(str(path) for path in PROCESSING.paths(".c") if path.name.startswith(parts))
    made, program = folder / "processing.so", folder / "replay"
    common = ["-std=gnu99", "-O1", *PROCESSING.include_flags, "-fno-strict-overflow"]
    subprocess.run([*compiler, *common, "-fPIC", "-shared", *sources, "-o", str(made)], check=True)
    subprocess.run([*compiler, *common, str(HERE / "replay.c"), "-o", str(program), "-ldl"], check=True)
    prepared = [CompiledImage(library, plan) for plan, _ in cases]
    file = folder / "cases"
    file.write_bytes(
        struct.pack("<I", len(cases))
        + b"".join(record(p, data) for p, (_, data) in zip(prepared, cases, strict=True))
    )
    done = subprocess.run(
        [*runner, str(program), str(made), str(file)],
        capture_output=True,
        timeout=300,
        env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"},
    )
    assert done.returncode == 0, done.stderr[-3000:].decode()
    results, at = [], 0
    for one in prepared:
        nbytes = int(np.prod(one.shape)) * np.dtype(one.plan.dtype).itemsize
        results.append(done.stdout[at : at + nbytes])
        at += nbytes
    assert at == len(done.stdout)
    return results
