"""Build a WebAssembly module from prepared models.

    module = build_module(Path("model.wasm"), {"kws": prepare("kws.tflite")}, core="wasm32-simd")

The module imports nothing: no WASI, no JavaScript. ``ModelExports`` in ``firmware/webassembly/exports.py`` describes
the exported functions. The export ``memory`` has a fixed size, which ``plan_module`` returns
before the build.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.files import write_atomic
from arenite.firmware.boards.cores import WEBASSEMBLY_CORES, optimise_flags
from arenite.firmware.generator.target import Target
from arenite.firmware.library.processing import bind_processing, processing_files
from arenite.firmware.library.sources import library_sources, share_arena
from arenite.firmware.webassembly.exports import ModelExports, exports_source, model_exports
from arenite.firmware.webassembly.memory import ModuleMemory, predict_memory
from arenite.host.build.library import lower_models
from arenite.host.build.prepare import Prepared
from arenite.host.build.webassembly.compiler import SIMD_FLAGS, compile_module
from arenite.processes import temporary_folder


@dataclass(frozen=True)
class ModulePlan:
    """A module before its build.

    ``sources``: text of each C file by its path. ``models``: the exports of each model. ``memory``: the module's
    memory. ``weights``: bytes of the models' weights and biases. ``arena_bound``: no plan for the execution order of
    the models' layers has a smaller arena, in bytes.
    """

    core: str
    optimise: str
    sources: Mapping[str, str]
    models: tuple[ModelExports, ...]
    memory: ModuleMemory
    weights: int
    arena_bound: int


@dataclass(frozen=True)
class BuiltModule:
    """A module that was built. ``nbytes`` and ``sha256`` are those of the file."""

    path: Path
    plan: ModulePlan
    nbytes: int
    sha256: str

    def as_json(self) -> dict[str, Any]:
        """Return core, goal, file and memory sizes in bytes, and the exports of each model, with only JSON types."""
        memory = self.plan.memory
        return {
            "core": self.plan.core,
            "optimise": self.plan.optimise,
            "bytes": self.nbytes,
            "sha256": self.sha256,
            "memory_bytes": memory.nbytes,
            "arena_bytes": memory.arena,
            "models": [m.as_json() for m in self.plan.models],
        }


def plan_module(
    models: Mapping[str, Prepared],
    core: str = "wasm32-simd",
    optimise: str = "balanced",
    stream_input: bool = False,
) -> ModulePlan:
    """Return the sources, exports and memory of a module with ``models``, by their C names.

    Args:
        models: prepared models. The key is the prefix of the exported functions, a C identifier.
        core: ``wasm32`` for plain WebAssembly, ``wasm32-simd`` for kernels with 128-bit SIMD, ``wasm32-relaxed`` for
            these kernels with the dot product of relaxed SIMD.
        optimise: the optimization goal, as for firmware.
        stream_input: input 0 of every model arrives in rows.

    Raises:
        UsageError: the core is unknown, there are no models, recorded steps do not fit a model, or a model cannot take
            its input in rows.
    """
    if core not in WEBASSEMBLY_CORES:
        raise UsageError(
            f"'{core}' is not a core for WebAssembly.", f"Choose one of {', '.join(WEBASSEMBLY_CORES)}."
        )
    if not models:
        raise UsageError("A module needs at least one model.", "Give the path of a .tflite file.")
    target = Target.for_core(core, optimise, stream_input)
    lowered, shared = share_arena(lower_models(models, target))
    sources = library_sources(lowered, shared)
    exports, texts = [], []
    for g, prepared in zip(lowered, models.values(), strict=True):
        processing = bind_processing(g, prepared.extra)
        if processing is not None:
            # A page converts whole windows. Unused function pointers of streams would end the linker (LLD 22) with a
            # segmentation fault.
            files = processing_files(g, processing, streams=False)
            texts.append(files[f"{g.prefix}processing.c"])
            sources.update(files)
        exports.append(model_exports(g, processing))
    sources["exports.c"] = exports_source(exports)
    memory = predict_memory(lowered, exports, texts)
    weights = sum(c.weight_bytes for g in lowered for c in g.constants)
    bound = max(g.plan.lower_bound for g in lowered)
    return ModulePlan(core, optimise, sources, tuple(exports), memory, weights, bound)


def build_module(
    path: Path,
    models: Mapping[str, Prepared],
    core: str = "wasm32-simd",
    optimise: str = "balanced",
    stream_input: bool = False,
) -> BuiltModule:
    """Build a module with ``models``, and write it to ``path``. See ``plan_module`` for the arguments and errors.

    Equal arguments and an equal version of ziglang give equal bytes. Raises ``ToolError`` if ziglang is missing.
    """
    return compile_plan(path, plan_module(models, core, optimise, stream_input))


def compile_plan(path: Path, plan: ModulePlan) -> BuiltModule:
    """Compile the sources of ``plan``, and write the module to ``path``."""
    flags = [*optimise_flags(plan.optimise), *SIMD_FLAGS[plan.core]]
    with temporary_folder() as folder:
        source_folder = folder / "src"
        for name, text in plan.sources.items():
            file = source_folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
        sources = sorted(source_folder / name for name in plan.sources if name.endswith(".c"))
        module = folder / "module.wasm"
        compile_module(folder, sources, flags, plan.memory.nbytes, module)
        content = module.read_bytes()
    write_atomic(path, content)
    return BuiltModule(path, plan, len(content), hashlib.sha256(content).hexdigest())
