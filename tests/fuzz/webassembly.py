"""The differential fuzzer for WebAssembly runs many random graphs in one module, in wasmtime.

python -m tests.fuzz.webassembly --cases 2000 --seed 0 [--core wasm32-simd] [--op CONV_2D ... | --long-filters]
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from arenite.converters.graph.model import DTYPES, Model
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.firmware.boards.cores import OPTIMISE_MODES, WEBASSEMBLY_CORES, optimise_flags
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.generator.project import engine_files
from arenite.firmware.generator.target import SIMD128, Target
from arenite.host.bench.module_runner import ModuleRunner
from arenite.host.bench.native_model import combined_source
from arenite.host.bench.reference import Reference
from arenite.host.build.webassembly.compiler import SIMD_FLAGS, compile_module
from arenite.processes import temporary_folder
from tests.fuzz.campaign import random_model
from tests.fuzz.cases import load_all
from tests.fuzz.comparison import Mismatch, lower, mismatch_of, random_input
from tests.fuzz.long_filters import long_filter_model

#: The size of a page of WebAssembly memory in bytes.
_PAGE = 65536
#: The compiler takes most of the time, and compiles the engine again for each module.
_GRAPHS_PER_MODULE = 500

#: Headers of models define functions that no graph calls.
_UNUSED = '#pragma clang diagnostic ignored "-Wunused-function"\n'

_EXPORTS = """\
#include "arenite.h"

{externs}

static const ar_model *const models[] = {{{models}}};

#define EXPORT(name) __attribute__((export_name(#name)))

EXPORT(input) void *export_input(uint32_t m, uint32_t k) {{ return models[m]->inputs[k].data; }}
EXPORT(output) void *export_output(uint32_t m, uint32_t k) {{ return models[m]->outputs[k].data; }}
EXPORT(reset) void export_reset(uint32_t m)
{{
    if (models[m]->reset) {{
        models[m]->reset();
    }}
}}
EXPORT(run) void export_run(uint32_t m)
{{
    for (uint32_t i = 0; i < models[m]->layer_count; i++) {{
        if (models[m]->layers[i]) {{
            models[m]->layers[i]();
        }}
    }}
}}
EXPORT(intact) uint32_t export_intact(uint32_t m)
{{
    const uint32_t *head = models[m]->guards;
    const uint32_t *tail = head + AR_GUARD_WORDS + models[m]->arena_bytes / 4;
    uint32_t damaged = 0;
    for (uint32_t i = 0; i < AR_GUARD_WORDS; i++) {{
        damaged += head[i] != AR_GUARD;
        damaged += tail[i] != AR_GUARD;
    }}
    return damaged == 0;
}}
EXPORT(paint) void export_paint(uint32_t m, uint32_t value)
{{
    uint32_t *head = models[m]->guards;
    uint32_t *tail = head + AR_GUARD_WORDS + models[m]->arena_bytes / 4;
    __builtin_memset(head, (int)value, (uint32_t)((uint8_t *)tail - (uint8_t *)head));
    for (uint32_t i = 0; i < AR_GUARD_WORDS; i++) {{
        head[i] = AR_GUARD;
        tail[i] = AR_GUARD;
    }}
}}
"""


def build(batch: Sequence[Generated], core: str, optimise: str, path: Path) -> None:
    """Write a module with every graph of the batch to ``path``.

    Its functions take the number of a graph. ``paint`` fills the arena with a byte, and ``intact`` returns whether the
    guard words around the arena are unchanged.
    """
    sources = {
        "graphs.c": _UNUSED + combined_source(batch),
        "exports.c": _EXPORTS.format(
            externs="\n".join(f"extern const ar_model {g.prefix}model;" for g in batch),
            models=", ".join(f"&{g.prefix}model" for g in batch),
        ),
    }
    needed = sorted({name for g in batch for name in g.engine_sources})
    sources |= engine_files(list(sources.values()), needed)
    arenas = sum(g.plan.arena_bytes + sum(c.nbytes for c in g.constants) for g in batch)
    # Twice the memory of arenas and constants, and 24 pages for the stack and all other data.
    pages = -(-2 * arenas // _PAGE) + 24
    flags = [
        "-Werror",
        *optimise_flags(optimise),
        *SIMD_FLAGS[core],
    ]
    with temporary_folder() as folder:
        for name, text in sources.items():
            (folder / name).write_text(text, "utf-8")
        compile_module(
            folder, sorted(folder / n for n in sources if n.endswith(".c")), flags, pages * _PAGE, path
        )


def compare_in_module(
    models: Sequence[Model], core: str, *, seed: int = 0, optimise: str = "speed", runs: int = 2
) -> tuple[list[Mismatch], list[str]]:
    """Run every graph ``runs`` times in wasmtime and in LiteRT. Return every difference, and the kernel of every
    layer. A graph that writes beyond its arena raises ``AssertionError``."""
    target = Target.for_core(core, optimise)
    batch = [lower(m, f"m{k}_", target) for k, m in enumerate(models)]
    mismatches = []
    with temporary_folder() as folder:
        path = folder / "graphs.wasm"
        build(batch, core, optimise, path)
        module = ModuleRunner(path, [], counted=False)
    for k, g in enumerate(batch):
        graph = g.model.main
        rng = np.random.default_rng([seed, k])
        reference = Reference(to_flatbuffer(g.model))
        for run in range(runs):
            module.call("paint", k, 0xA5 if run % 2 else 0x5A)
            module.call("reset", k)
            inputs = [random_input(graph.tensors[i], rng) for i in graph.inputs]
            for position, value in enumerate(inputs):
                module.write(module.call("input", k, position), np.ascontiguousarray(value).tobytes())
            module.call("run", k)
            assert module.call("intact", k), f"graph {k} writes beyond its arena"
            for position, (index, expected) in enumerate(
                zip(graph.outputs, reference.run(inputs), strict=True)
            ):
                t = graph.tensors[index]
                raw = module.read(module.call("output", k, position), t.nbytes)
                actual = np.frombuffer(raw, DTYPES[t.dtype]).reshape(t.shape)
                mismatch = mismatch_of(k, position, run, expected, actual)
                mismatches += [mismatch] if mismatch else []
    return mismatches, [layer.call.kernel for g in batch for layer in g.calls if layer.call is not None]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz.webassembly", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--core", choices=list(WEBASSEMBLY_CORES), default="wasm32-simd")
    parser.add_argument("--cases", type=int, default=2000, help="number of graphs")
    parser.add_argument("--first", type=int, default=0, help="number of the first graph")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--optimise", choices=OPTIMISE_MODES, help="default: each in turn")
    parser.add_argument("--op", action="append", help="only these operators")
    parser.add_argument(
        "--long-filters", action="store_true", help="only chains of convolutions over one column or one row"
    )
    args = parser.parse_args(argv)
    ops = args.op or sorted(load_all())
    kernels: Counter[str] = Counter()
    failures = 0
    last = args.first + args.cases
    for turn, first in enumerate(range(args.first, last, _GRAPHS_PER_MODULE)):
        numbers = range(first, min(first + _GRAPHS_PER_MODULE, last))
        goal = args.optimise or OPTIMISE_MODES[turn % len(OPTIMISE_MODES)]
        models = [
            long_filter_model(args.seed, k) if args.long_filters else random_model(args.seed, k, ops, 3)
            for k in numbers
        ]
        differences, used = compare_in_module(models, args.core, seed=args.seed, optimise=goal)
        kernels.update(used)
        for mismatch in differences:
            failures += 1
            print(f"seed {args.seed} graph {first + mismatch.case}, {goal}: {mismatch}", file=sys.stderr)
        print(
            f"{numbers[-1] + 1 - args.first:,} of {args.cases:,} graphs, {failures} mismatches",
            file=sys.stderr,
        )
    tier_layers = sum(n for kernel, n in kernels.items() if kernel.endswith(f"_{SIMD128}"))
    print(
        f"{args.core}, seed {args.seed}: {args.cases} graphs, {tier_layers:,} of {kernels.total():,} layers by "
        f"{SIMD128} kernels, {failures} mismatches"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
