"""Mutate model files and read them: only a ``ModelError`` may be raised, in little time and memory.

    python -m tests.fuzz.hostile_files --cases 100000 --seed 1 [--through reader|writer|firmware]

Case K of seed S is the same file on every computer. Most mutations change a meaningful place (an offset, a length, a
vtable, a scalar), which a decoder of the seed file finds. The other mutations flip, remove, insert or replace bytes at
random places. Models that the reader accepts are checked for the invariants of a graph, then (``--through``) written
and read again, or planned and lowered to C. A mutant for which a rule is broken (another exception, too much time or
memory, a broken invariant) is saved.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import resource
import signal
import struct
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.planner import OpRequirements, plan
from arenite.converters.tflite.image import Image, image_bytes, parse_image, to_flatbuffer
from arenite.converters.tflite.verifier import _Decoder, _Field, decode
from arenite.errors import AreniteError, ModelError
from tests.converters import small_models
from tests.fuzz.cases import load_all
from tests.fuzz.graph_builder import GraphBuilder
from tests.fuzz.graph_invariants import broken_invariants

CRASHES = Path(__file__).resolve().parents[2] / ".cache" / "fuzz_reader"

#: Maximum seconds per case, and maximum memory beyond that of the process at the start.
CASE_SECONDS = 5
MEMORY_BYTES = 1 << 30
#: The cases that run under one alarm, and its seconds: enough for a few slow cases, and 0.1 s for every other case.
_CHUNK_CASES, _CHUNK_SECONDS = 1000, 120

#: Values next to which lengths, indices and types of 8, 16 and 32 bits overflow.
_CORNERS = (
    0,
    1,
    2,
    3,
    4,
    8,
    16,
    127,
    128,
    255,
    256,
    32767,
    32768,
    65535,
    1 << 20,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
)


@dataclass(frozen=True)
class SeedFile:
    """A valid file and the places in it that have a meaning, each as (position, number of bytes)."""

    name: str
    data: bytes
    structure: tuple[tuple[int, int], ...]  # offsets, lengths, vtables
    values: tuple[tuple[int, int], ...]  # scalars: dimensions, indices, options, types


class _RecordingDecoder(_Decoder):
    """A decoder that records which places it reads."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.structure: set[tuple[int, int]] = {(0, 4), (4, 4)}
        self.values: set[tuple[int, int]] = set()

    def _vtable(self, at: int) -> tuple[tuple[int, ...], int]:
        vtable = at - struct.unpack_from("<i", self.data, at)[0]
        size = struct.unpack_from("<H", self.data, vtable)[0]
        self.structure.add((at, 4))
        self.structure.update((vtable + k, 2) for k in range(0, size, 2))
        return super()._vtable(at)

    def _value(self, field: _Field, pos: int, out: dict[str, Any]) -> Any:
        value = super()._value(field, pos, out)
        (self.values if field.code is not None and not field.item else self.structure).add((pos, field.width))
        if (field.width == 4 and field.code is None) or isinstance(value, (tuple, str, list, memoryview)):
            target = pos + struct.unpack_from("<I", self.data, pos)[0]
            self.structure.add((target, 4))
            if isinstance(value, tuple):
                width = field.item
                self.values.update((target + 4 + width * k, width) for k in range(min(len(value), 64)))
            if isinstance(value, list):
                self.structure.update((target + 4 + 4 * k, 4) for k in range(len(value)))
        return value


def seed_of(name: str, data: bytes) -> SeedFile:
    """Return a seed file with the places that a decoder reads in ``data``."""
    recorder = _RecordingDecoder(data)
    recorder.table(struct.unpack_from("<I", data, 0)[0], "Model")
    return SeedFile(name, data, tuple(sorted(recorder.structure)), tuple(sorted(recorder.values)))


def seeds(folder: Path | None = None, *, operators: bool = False) -> list[SeedFile]:
    """Return seed files: the small models, plain and as images with a plan, and the model files of ``folder``. With
    ``operators``, also one random model of each operator of the differential fuzzer."""
    seed_files = []
    for name, make in small_models.ALL.items():
        model = make()
        seed_files.append(seed_of(name, to_flatbuffer(model)))
        needs = [OpRequirements(scratch=16 if op.name == "CONV_2D" else 0) for op in model.main.ops]
        planned = plan(model.main, needs, alignment=16, persistent={"/state": 4})
        seed_files.append(seed_of(name + " image", image_bytes(model, planned, source_sha256="0" * 64)))
    for name, case in sorted(load_all().items()) if operators else []:
        builder = GraphBuilder(np.random.default_rng(0), max_elements=200)
        case(builder)
        seed_files.append(seed_of(name, to_flatbuffer(builder.build())))
    for path in sorted(folder.glob("*.tflite")) if folder is not None else []:
        seed_files.append(seed_of(path.name, path.read_bytes()))
    return seed_files


def mutate(rng: random.Random, pool: Sequence[SeedFile]) -> bytes:
    """Return a random seed file of ``pool`` with one or more random mutations."""
    seed = rng.choice(pool)
    data = bytearray(seed.data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        draw = rng.random()
        if draw < 0.45:
            _change_random_place(rng, data, seed.values)
        elif draw < 0.7:
            _change_random_place(rng, data, seed.structure)
        else:
            rng.choice(_UNSTRUCTURED)(rng, data, pool)
    return bytes(data)


def _change_random_place(rng: random.Random, data: bytearray, places: Sequence[tuple[int, int]]) -> None:
    """Replace the value at one of the ``places``."""
    position, width = rng.choice(places)
    if position + width > len(data):
        return
    old = int.from_bytes(data[position : position + width], "little")
    kind = rng.randrange(5)
    if kind == 0:
        new = rng.choice(_CORNERS)
    elif kind == 1:
        new = old + rng.choice((-8, -4, -2, -1, 1, 2, 4, 8))
    elif kind == 2:
        new = rng.getrandbits(8 * width)
    elif kind == 3:
        new = old ^ (1 << rng.randrange(8 * width))
    else:  # the value of another place, such as an offset to another table or the length of another vector
        source, size = rng.choice(places)
        new = int.from_bytes(data[source : source + size], "little") + rng.choice(
            (0, position - source, source - position)
        )
    data[position : position + width] = (new % (1 << (8 * width))).to_bytes(width, "little")


def _flip(rng: random.Random, data: bytearray, _pool: Sequence[SeedFile]) -> None:
    """Flip random bits."""
    for _ in range(rng.choice((1, 2, 8, 64))):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _cut(rng: random.Random, data: bytearray, _pool: Sequence[SeedFile]) -> None:
    """Remove the end of ``data``."""
    del data[rng.randrange(len(data) + 1) :]


def _remove(rng: random.Random, data: bytearray, _pool: Sequence[SeedFile]) -> None:
    """Remove a few bytes."""
    at = rng.randrange(len(data) + 1)
    del data[at : at + rng.choice((1, 2, 4, 16, 256))]


def _repeat(rng: random.Random, data: bytearray, _pool: Sequence[SeedFile]) -> None:
    """Insert a copy of some bytes of ``data`` at another place."""
    at, length = rng.randrange(len(data) + 1), rng.choice((4, 16, 64, 1024))
    target = rng.randrange(len(data) + 1)
    data[target:target] = data[at : at + length]


def _overwrite(rng: random.Random, data: bytearray, pool: Sequence[SeedFile]) -> None:
    """Replace some bytes by bytes of a seed file."""
    source = rng.choice(pool).data
    at, length = rng.randrange(len(source)), rng.choice((4, 16, 64, 1024))
    target = rng.randrange(len(data) + 1)
    data[target : target + length] = source[at : at + length]


def _splice(rng: random.Random, data: bytearray, pool: Sequence[SeedFile]) -> None:
    """Replace the end of ``data`` by the end of another seed file."""
    source = rng.choice(pool).data
    at = rng.randrange(len(data) + 1)
    data[at:] = source[at:]


def _replace_end(rng: random.Random, data: bytearray, _pool: Sequence[SeedFile]) -> None:
    """Replace the end of ``data`` by random bytes."""
    data[rng.randrange(len(data) + 1) :] = rng.randbytes(rng.choice((8, 64, 512)))


def _replace_word(rng: random.Random, data: bytearray, _pool: Sequence[SeedFile]) -> None:
    """Replace an aligned 32-bit word by a value of ``_CORNERS``."""
    if len(data) >= 8:
        at = rng.randrange(len(data) - 3) & ~3
        data[at : at + 4] = (rng.choice(_CORNERS) % (1 << 32)).to_bytes(4, "little")


_UNSTRUCTURED: tuple[Callable[[random.Random, bytearray, Sequence[SeedFile]], None], ...] = (
    _flip, _cut, _remove, _repeat, _overwrite, _splice, _replace_end, _replace_word,
)  # fmt: skip


@dataclass
class Report:
    """Counts the outcomes of the cases."""

    refused: int = 0
    accepted: int = 0
    stopped_later: int = 0  # accepted by the reader, refused with an error by a later stage
    violations: list[str] = field(default_factory=list)  # one entry per case that broke a rule
    slowest: float = 0.0  # seconds
    reasons: Counter[str] = field(default_factory=Counter)  # kinds of the reader's messages


def run(
    pool: Sequence[SeedFile],
    cases: int,
    seed: int,
    *,
    through: str = "reader",
    crashes: Path | None = None,
    first: int = 0,
) -> Report:
    """Run cases ``first`` to ``first + cases - 1`` of ``seed``. Save files that break a rule in folder ``crashes``."""
    report = Report()
    for case in range(first, first + cases):
        data = mutate(random.Random(f"{seed}:{case}"), pool)
        start = time.perf_counter()
        problem = _check_case(data, through, report)
        spent = time.perf_counter() - start
        report.slowest = max(report.slowest, spent)
        if not problem and spent > CASE_SECONDS:
            problem = f"took {spent:.1f} s"
        if problem:
            name = hashlib.sha256(data).hexdigest()[:12]
            report.violations.append(f"case {case} of seed {seed} ({name}.tflite): {problem}")
            if crashes is not None:
                crashes.mkdir(parents=True, exist_ok=True)
                (crashes / f"{name}.tflite").write_bytes(data)
    return report


def _check_case(data: bytes, through: str, report: Report) -> str:
    """Return a description of the rule that the case breaks, or "" if it breaks none."""
    try:
        image = parse_image(data)
    except ModelError as error:
        report.refused += 1
        report.reasons[_message_kind(error.problem)] += 1
        if "no specific check" in error.problem:
            return error.problem
        return "" if error.problem and error.hint else f"no hint: {error.problem}"
    except BaseException:
        return traceback.format_exc()
    report.accepted += 1
    try:
        violation = broken_invariants(image.model)
        if violation:
            return violation
        return (
            _write_and_read(image)
            if through == "writer"
            else _lower_to_c(image)
            if through == "firmware"
            else ""
        )
    except AreniteError:
        report.stopped_later += 1
        return ""
    except BaseException:
        return traceback.format_exc()


def _message_kind(problem: str) -> str:
    """Return the problem without numbers and names, so that equal kinds of problems can be counted."""
    return problem.split(": ", 1)[-1][:40].translate(str.maketrans("", "", "0123456789,-"))


def _write_and_read(image: Image) -> str:
    """Write the model and read it again. Return a description of the difference, or "" if there is none."""
    written = to_flatbuffer(image.model)
    reread = parse_image(written)
    if reread.model.repairs:
        return f"the written file needs repairs: {reread.model.repairs}"
    return "" if to_flatbuffer(reread.model) == written else "the written file is read differently"


def _lower_to_c(image: Image) -> str:
    """Generate C code of the model. Return "", because only an exception is an error."""
    from arenite.converters.passes.fold_constants import fold_constants
    from arenite.converters.tflite.int4 import int8_weights
    from arenite.firmware.generator.model_lowering import lower_model
    from arenite.firmware.generator.operator_needs import check_supported, op_needs
    from arenite.firmware.generator.state import resource_sizes

    model, _ = fold_constants(image.model)
    model = int8_weights(model)
    check_supported(model)
    lowered_plan = plan(
        model.main, op_needs(model.main), persistent=resource_sizes(model), order_budget=50, offset_budget=50
    )
    lower_model(model, lowered_plan)
    return ""


class _Hang(BaseException):
    """The cases of a chunk took too long."""


def _limit_process() -> None:
    """Limit this process, so that use of too much memory raises MemoryError and a hang raises an exception."""
    with Path("/proc/self/statm").open() as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_BYTES, resource.RLIM_INFINITY))

    def alarm(_signal: int, _frame: object) -> None:
        raise _Hang(f"{_CHUNK_CASES} cases took more than {_CHUNK_SECONDS} s")

    signal.signal(signal.SIGALRM, alarm)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case, to repeat a case")
    parser.add_argument("--through", choices=("reader", "writer", "firmware"), default="reader")
    parser.add_argument("--operators", action="store_true", help="also mutate a model of each operator")
    parser.add_argument("--models", type=Path, help="folder with further .tflite files to mutate")
    parser.add_argument(
        "--crashes",
        type=Path,
        default=CRASHES,
        help=f"folder for files that break a rule (default {CRASHES})",
    )
    options = parser.parse_args()
    pool = seeds(options.models, operators=options.operators)
    for s in pool:
        decode(s.data)
    _limit_process()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    total = Report()
    for first in range(options.first, options.first + options.cases, _CHUNK_CASES):
        signal.alarm(_CHUNK_SECONDS)
        count = min(_CHUNK_CASES, options.first + options.cases - first)
        chunk = run(pool, count, options.seed, through=options.through, crashes=options.crashes, first=first)
        total.refused += chunk.refused
        total.accepted += chunk.accepted
        total.stopped_later += chunk.stopped_later
        total.slowest = max(total.slowest, chunk.slowest)
        total.reasons += chunk.reasons
        for problem in chunk.violations:
            print(problem, file=sys.stderr)
        total.violations += chunk.violations
    signal.alarm(0)
    growth_mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    print(f"seed {options.seed}, {options.cases} cases through the {options.through}, {len(pool)} seed files")
    print(
        f"refused {total.refused} (with {len(total.reasons)} different messages), accepted {total.accepted}"
    )
    print(f"accepted by the reader and refused with an error later: {total.stopped_later}")
    print(
        f"broken rules {len(total.violations)}; slowest case {total.slowest * 1e3:.1f} ms; "
        f"memory grew by {growth_mib} MiB"
    )
    print(f"{time.perf_counter() - start:.1f} s")
    return 1 if total.violations else 0


if __name__ == "__main__":
    sys.exit(main())
