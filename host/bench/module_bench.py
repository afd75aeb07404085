"""Measure a model as a WebAssembly module: exactness, instructions, sizes, and the time in wasmtime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arenite.firmware.boards.cores import WEBASSEMBLY_CORES
from arenite.host.bench.devices.measure import Progress
from arenite.host.bench.module_result import module_result
from arenite.host.bench.module_runner import ModuleRunner
from arenite.host.bench.reference import Reference
from arenite.host.bench.samples import Samples
from arenite.host.bench.verification import OutputVerifier, VerificationResult, verify_all
from arenite.host.build.prepare import Prepared
from arenite.host.build.webassembly.module import BuiltModule, build_module
from arenite.processes import temporary_folder

#: The name of a WebAssembly module in place of a board's name.
WASM_BOARD = "wasm"
#: The prefix of the exported functions, and the number of inferences whose duration is measured.
_NAME, _TIMED_INFERENCES = "model", 50


@dataclass(frozen=True)
class ModuleFigures:
    """The figures of one module.

    ``verification`` compares its outputs with LiteRT's. ``instructions``: of one inference, counted by wasmtime for
    each sample. ``times_us``: durations of inferences in wasmtime on this computer, in microseconds. ``stack``: the
    largest number of bytes of stack that a sample needed.
    """

    module: BuiltModule
    verification: VerificationResult
    instructions: tuple[int, ...]
    times_us: tuple[float, ...]
    stack: int

    def as_json(self) -> dict[str, Any]:
        memory = self.module.plan.memory
        return {
            "core": self.module.plan.core,
            "bit_exact": len(self.verification.exact),
            "max_abs_diff": self.verification.max_abs_diff,
            "accuracy": self.verification.accuracy,
            "instructions": {
                "p50": int(np.median(self.instructions)),
                "max": max(self.instructions),
                "kind": "measured",
            },
            "time_us": {
                "p50": round(float(np.median(self.times_us)), 1),
                "min": round(min(self.times_us), 1),
                "kind": "measured",
                "source": "wasmtime on this computer",
            },
            "module_bytes": self.module.nbytes,
            "module_sha256": self.module.sha256,
            "memory": {"total": memory.nbytes, "arena": memory.arena, "stack_used": self.stack},
        }


@dataclass(frozen=True)
class ModuleBench:
    """The figures of a model's modules with and without SIMD."""

    prepared: Prepared
    optimise: str
    samples: int
    modules: tuple[ModuleFigures, ...]

    @property
    def bit_exact(self) -> bool:
        """Whether every module gave LiteRT's bytes for every sample."""
        return all(len(m.verification.exact) == self.samples for m in self.modules)

    def as_json(self) -> dict[str, Any]:
        """Return the object of schema ``arenite.bench/1``."""
        first = self.modules[0]
        modules = [m.as_json() for m in self.modules]
        result = module_result(
            self.prepared,
            WASM_BOARD,
            first.module.plan,
            first.module.nbytes,
            self.samples,
            [m.verification for m in self.modules],
            instructions=first.instructions,
            latency=modules[0]["time_us"],
            stack=first.stack,
        )
        return {**result, "modules": modules}


def bench_modules(
    prepared: Prepared,
    samples: Samples,
    optimise: str = "balanced",
    stream_input: bool = False,
    stateful: bool = False,
    keep: Path | None = None,
    progress: Progress = lambda *_: None,
) -> ModuleBench:
    """Build the model as a module for each core, run all samples in wasmtime, and compare every output with LiteRT.

    ``stateful``: do not reset the model's state between samples. ``keep``: write the modules to this folder, with the
    names of their cores. Raises ``ToolError`` if ziglang or wasmtime is missing.
    """
    verifier = OutputVerifier(Reference(prepared.reference), samples, stateful=stateful)
    figures = []
    with temporary_folder() as temporary:
        for done, core in enumerate(reversed(WEBASSEMBLY_CORES)):  # the core with SIMD first
            progress("build", done, len(WEBASSEMBLY_CORES))
            path = (keep or temporary) / f"{core}.wasm"
            module = build_module(path, {_NAME: prepared}, core, optimise, stream_input)
            figures.append(_measure(prepared, module, samples, verifier, stateful, progress))
    return ModuleBench(prepared, optimise, len(samples), tuple(figures))


def _measure(
    prepared: Prepared,
    module: BuiltModule,
    samples: Samples,
    verifier: OutputVerifier,
    stateful: bool,
    progress: Progress,
) -> ModuleFigures:
    counted = ModuleRunner(module.path, module.plan.models)
    counted.paint_stack()
    outputs: list[Sequence[np.ndarray]] = []
    instructions = []
    for k, inputs in enumerate(samples.inputs):
        progress("run", k, len(samples))
        outputs.append(counted.run(_NAME, inputs, reset=k == 0 or not stateful))
        instructions.append(counted.last_instructions)
    progress("run", len(samples), len(samples))
    graph = prepared.source.main
    first = graph.tensors[graph.outputs[0]] if graph.outputs else None
    verification = verify_all(verifier, samples, range(len(samples)), outputs, first, progress)
    timed = ModuleRunner(module.path, module.plan.models, counted=False)
    times = []
    for k in range(_TIMED_INFERENCES):
        timed.run(_NAME, samples.inputs[k % len(samples)])
        times.append(timed.last_seconds * 1e6)
    return ModuleFigures(module, verification, tuple(instructions), tuple(times), counted.stack_bytes())
