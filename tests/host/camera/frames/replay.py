"""Run preprocessing cases in the C code, built for another machine or with a sanitizer, and return its results. The
program replay.c reads the cases from a file."""

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


def _pointers(structure: type[ctypes.Structure], base: int = 0) -> Iterator[int]:
    """Yield the offsets (in bytes, plus ``base``) of all pointer fields of a ctypes structure and of the structures in
    it."""
    for name, field in structure._fields_:  # type: ignore[misc]
        offset = base + getattr(structure, name).offset
        if field is ctypes.c_void_p:
            yield offset
        elif isinstance(field, type) and issubclass(field, ctypes.Structure):
            yield from _pointers(field, offset)


def _blocks(data: np.ndarray, plan: ImagePlan) -> Iterator[bytes]:
    """Yield each plane of the picture ``data`` as replay.c reads it: stride, size in bytes, pixels."""
    at = 0
    for row, rows in planes_of(plan.format, plan.width, plan.height):
        yield struct.pack("<II", row, row * rows) + data[at : at + row * rows].tobytes()
        at += row * rows


def record(compiled: CompiledImage, data: np.ndarray) -> bytes:
    """Return one case as bytes for replay.c: the prepared plan ``compiled`` and the picture ``data``."""
    raw = bytes(compiled._host)
    functions = [(getattr(c.ImageStruct, field).offset, name) for field, name in compiled.names.items()]
    if compiled.unpack:
        functions.append((c.HostImageStruct.unpack.offset, compiled.unpack))
    names = [struct.pack("<I64s", at, name.encode()) for at, name in functions]
    tables = {array.ctypes.data: array for array in compiled.tables}
    targets = []
    for at in set(_pointers(c.HostImageStruct)) - {at for at, _ in functions}:
        (address,) = struct.unpack_from("<Q", raw, at)
        if address:
            targets.append(struct.pack("<II", at, tables[address].nbytes) + tables[address].tobytes())
    blocks = list(_blocks(data, compiled.plan))
    nbytes = int(np.prod(compiled.shape)) * np.dtype(compiled.plan.dtype).itemsize
    return b"".join(
        [
            struct.pack("<I", len(raw)) + raw,
            struct.pack("<I", len(functions)),
            *names,
            struct.pack("<I", len(targets)),
            *targets,
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
    """Build the C code with the command ``compiler``, run it with the command ``runner`` (such as an emulator), and
    return the bytes of the tensor for each of ``cases`` (plan, picture)."""
    library = native.library()
    assert library is not None
    parts = ("image", "column", "finish", "vector")
    sources = sorted(str(path) for path in PROCESSING.paths(".c") if path.name.startswith(parts))
    shared_library, program = folder / "processing.so", folder / "replay"
    common = ["-std=gnu99", "-O1", *PROCESSING.include_flags, "-fno-strict-overflow"]
    subprocess.run([*compiler, *common, "-fPIC", "-shared", *sources, "-o", str(shared_library)], check=True)
    subprocess.run([*compiler, *common, str(HERE / "replay.c"), "-o", str(program), "-ldl"], check=True)
    prepared = [CompiledImage(library, plan) for plan, _ in cases]
    file = folder / "cases"
    file.write_bytes(
        struct.pack("<I", len(cases))
        + b"".join(record(p, data) for p, (_, data) in zip(prepared, cases, strict=True))
    )
    process = subprocess.run(
        [*runner, str(program), str(shared_library), str(file)],
        capture_output=True,
        timeout=300,
        env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"},
    )
    assert process.returncode == 0, process.stderr[-3000:].decode()
    results, at = [], 0
    for compiled in prepared:
        nbytes = int(np.prod(compiled.shape)) * np.dtype(compiled.plan.dtype).itemsize
        results.append(process.stdout[at : at + nbytes])
        at += nbytes
    assert at == len(process.stdout)
    return results
