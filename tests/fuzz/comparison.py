"""Compare generated C with LiteRT's reference kernels, many graphs per compiler run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from arenite.converters.graph.model import DTYPES, Model, Tensor
from arenite.converters.planner import check, plan
from arenite.converters.planner.streaming.plan_streaming import plan_streaming
from arenite.converters.tflite.image import to_flatbuffer
from arenite.converters.tflite.int4 import int8_weights
from arenite.errors import AreniteError
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.generator.model_lowering import lower_model
from arenite.firmware.generator.operator_needs import check_supported, op_needs
from arenite.firmware.generator.state import resource_sizes
from arenite.firmware.generator.target import DSP, MVE, PORTABLE, SCALAR, TIERS, Target
from arenite.host.bench.native_model import NativeModel, build
from arenite.host.bench.reference import Reference

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "native"


@dataclass(frozen=True)
class Mismatch:
    """Describes an output that differs from LiteRT's.

    ``case``, ``output`` and ``run`` are the numbers of the model, of its output and of the run, from 0.
    ``different`` is the number of different elements.
    """

    case: int
    output: int
    run: int
    different: int
    first: tuple[int, object, object]  # the first difference: flat index, LiteRT's value, Arenite's value
    target: Target = PORTABLE

    def __str__(self) -> str:
        index, expected, actual = self.first
        where = f"{self.target.tier} {self.target.optimise}: case {self.case}, output {self.output}, run {self.run}"
        return f"{where}: {self.different} elements differ, first at {index}: LiteRT {expected}, Arenite {actual}"


#: Targets for which tests compile graphs on this computer. Kernels of every tier have a portable body.
HOST_TARGETS = (PORTABLE, Target("", DSP, "speed"), Target("", MVE, "speed"))
#: Targets of the fuzzer, one per batch in turn.
FUZZ_TARGETS = (
    *(Target("", tier, mode) for tier in TIERS for mode in ("speed", "balanced", "ram", "flash")),
    Target("xtensa-lx106", SCALAR, "speed"),  # weight layout for a core without signed byte loads
    # These cores have weight layouts for single channels or for pairs of channels.
    *(Target(core, SCALAR, "speed") for core in ("cortex-m0", "cortex-m3", "rv32imc")),
    # Even small layers are split into halves for two cores. The halves run in either order.
    *(
        Target.for_core(core, mode, cores=2)
        for core in ("rv32imc", "cortex-m33")
        for mode in ("speed", "ram", "flash")
    ),
)


def lower(model: Model, prefix: str = "", target: Target = PORTABLE) -> Generated:
    """Check, plan and lower one model. Targets with little RAM use a streaming plan if there is one."""
    model = int8_weights(model)
    check_supported(model)
    needs = op_needs(model.main, target)
    streams = target.optimise == "ram" and not resource_sizes(model)
    streaming_plan = plan_streaming(model.main, needs) if streams else None
    if streaming_plan is None:
        streaming_plan = plan(model.main, needs, persistent=resource_sizes(model))
    elif streaming_plan.segments:
        check(model.main, streaming_plan, needs)
    return lower_model(model, streaming_plan, target=target, prefix=prefix)


def random_input(tensor: Tensor, rng: np.random.Generator) -> np.ndarray:
    """Return a random array for ``tensor``: values over the full range of its type, a mix of extreme values, or one
    repeated extreme value."""
    dtype = DTYPES[tensor.dtype]
    assert dtype is not None
    if dtype == np.bool_:
        return rng.integers(0, 2, tensor.shape).astype(np.bool_)
    if dtype.kind == "f":
        values = rng.standard_normal(tensor.shape) * float(rng.choice([0.1, 1.0, 20.0]))
        return np.asarray(values).astype(dtype)
    info = np.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    if dtype.itemsize >= 4:
        low, high = -1000, 1000
    mode = rng.random()
    if mode < 0.15:
        return np.full(tensor.shape, rng.choice([low, high]), dtype)
    if mode < 0.3:
        return rng.choice([low, low + 1, -1, 0, 1, high], tensor.shape).astype(dtype)
    return rng.integers(low, high + 1, tensor.shape).astype(dtype)


def compare(
    models: Sequence[Model],
    *,
    seed: int = 0,
    runs: int = 2,
    cache: Path = CACHE,
    keep: bool = True,
    targets: Sequence[Target] = HOST_TARGETS,
) -> list[Mismatch]:
    """Run every model ``runs`` times on random inputs, in LiteRT and as generated C, and return every difference.

    Each model is compiled for each of ``targets``. With ``keep``, the compiled models stay in the cache for the next
    run of the same test.

    A model with variables keeps their values between these runs, and then runs once more after a reset.
    """
    generated = [
        lower(m, f"m{k}t{t}_", target) for t, target in enumerate(targets) for k, m in enumerate(models)
    ]
    natives = build(generated, cache, keep=keep)
    mismatches = []
    for t, target in enumerate(targets):
        for k, model in enumerate(models):
            native = natives[t * len(models) + k]
            for mismatch in compare_one(k, model, native, np.random.default_rng([seed, k]), runs):
                mismatches.append(replace(mismatch, target=target))
    return mismatches


def compare_one(
    case: int, model: Model, native: NativeModel, rng: np.random.Generator, runs: int
) -> list[Mismatch]:
    """Run one model ``runs`` times in LiteRT and as compiled C on random inputs, and return every difference."""
    try:
        reference = Reference(to_flatbuffer(model))
    except AreniteError as error:
        raise AssertionError(f"case {case} is not a model that LiteRT accepts: {error}") from error
    has_state = bool(resource_sizes(model)) or any(t.is_variable for t in model.main.tensors)
    mismatches = []
    for run in range(runs + has_state):
        inputs = [random_input(model.main.tensors[i], rng) for i in model.main.inputs]
        fresh = run in (0, runs) or not has_state
        if fresh:
            # Two different bytes, so that a result that depends on memory that nothing has written is wrong in one run.
            native.fill_arena(0xA5 if run % 2 else 0x5A)
        expected = reference.run(inputs, reset=fresh)
        actual = native.run(inputs, reset=fresh)
        for o, (a, b) in enumerate(zip(expected, actual, strict=True)):
            mismatch = mismatch_of(case, o, run, a, b)
            mismatches += [mismatch] if mismatch else []
    return mismatches


def mismatch_of(
    case: int, output: int, run: int, expected: np.ndarray, actual: np.ndarray
) -> Mismatch | None:
    """Return the difference between two arrays of one shape and type, or None if all bytes are equal."""
    # Bytes are compared, not values, so that -0.0 differs from 0.0 and NaNs with different bits differ.
    a, b = np.ascontiguousarray(expected).reshape(-1), np.ascontiguousarray(actual).reshape(-1)
    differ = np.unique(np.flatnonzero(a.view(np.uint8) != b.view(np.uint8)) // a.itemsize)
    if not differ.size:
        return None
    first = int(differ[0])
    return Mismatch(case, output, run, differ.size, (first, a[first], b[first]))
