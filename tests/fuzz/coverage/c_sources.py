"""Write the generated C sources of the fuzz targets, and name all sources of each target."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from arenite.converters.graph.model import Model
from arenite.firmware.boards.families import agent_sources
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.generator.model_source import model_sources
from arenite.firmware.generator.target import SCALAR, Target
from arenite.firmware.sources import BOARDS, ENGINE, SHARED
from arenite.host.bench.native_model import combined_source
from tests import toy_model
from tests.converters import small_models
from tests.firmware.engine.streamed_models import lower_streamed
from tests.firmware.library.libraries import write_library_of
from tests.firmware.library.processing_cases import save
from tests.fuzz.campaign import random_model
from tests.fuzz.cases import load_all
from tests.fuzz.comparison import FUZZ_TARGETS, lower
from tests.fuzz.coverage.processing_models import processing_models

HERE = Path(__file__).parent / "c"

_AGENT_MAIN = """\
#include "agent.h"
#include "model.h"
static uint32_t layer_ticks[MODEL_LAYERS];
const ar_firmware ar_this_firmware = {{&model, "fuzzed", {{layer_ticks, sizeof layer_ticks, AR_INT32}}, {take_rows}}};
"""
_MONITOR_MAIN = """\
#define BYTES 8
static uint8_t input_copy[4 * BYTES];
static const ar_reals reals = {BYTES, 0.05f, -3, ar_quantize_reals, ar_score};
const ar_monitor ar_this_monitor = {input_copy, sizeof input_copy, &reals, 3276800, -128};
"""


@dataclass(frozen=True)
class Sources:
    """The C files of a program, the folders of their headers, and macros."""

    files: tuple[Path, ...]
    includes: tuple[Path, ...] = ()
    macros: tuple[str, ...] = ()


def _folders(*trees: Path) -> tuple[Path, ...]:
    """Return the folders below ``trees`` that contain headers."""
    return tuple(sorted({path.parent for tree in trees for path in tree.rglob("*.h")}))


def _write(folder: Path, files: dict[str, str]) -> tuple[Path, ...]:
    """Write the files. Return the paths of the C files among them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return tuple(folder / name for name in files if name.endswith(".c"))


def _firmware(
    folder: Path, target: str, protocol: str, files: dict[str, str], kernels: Sequence[str], stream: bool
) -> Sources:
    """Return the sources of a firmware that serves a model through a serial protocol.

    ``target`` is the file name of the fuzz target, ``files`` has generated files, ``kernels`` the names of engine
    files, and ``stream`` is whether the model takes its input row by row.
    """
    agent = agent_sources(protocol, stream, health=True)
    return Sources(
        (
            *_write(folder, files),
            *(BOARDS.path(name) for name in agent),
            *(ENGINE.path(name) for name in kernels),
            HERE / target,
            HERE / "serial_port.c",
        ),
        (folder, HERE, *_folders(BOARDS.folder, ENGINE.folder, SHARED)),
        ("PORT_FRAMEWORK=1", "AR_HEALTH=1", "AR_HOST=1"),
    )


def agent(folder: Path) -> Sources:
    """Return the sources of the agent with the toy model."""
    files = toy_model.sources() | {"main.c": _AGENT_MAIN.format(take_rows="0")}
    return _firmware(folder, "agent_target.c", "arenite", files, (), False)


def agent_stream(folder: Path) -> Sources:
    """Return the sources of the agent with a model that takes its input row by row."""
    generated = lower_streamed(small_models.conv_net(), Target("", SCALAR, "ram", stream_input=True), "")
    assert generated is not None and generated.streamed_input is not None
    files = model_sources(generated) | {"main.c": _AGENT_MAIN.format(take_rows="ar_take_rows")}
    return _firmware(folder, "agent_target.c", "arenite", files, sorted(generated.engine_sources), True)


def monitor(folder: Path) -> Sources:
    """Return the sources of the MLPerf Tiny monitor with the toy model. This monitor also accepts inputs as floats."""
    files = toy_model.sources() | {"main.c": _AGENT_MAIN.format(take_rows="0") + _MONITOR_MAIN}
    return _firmware(folder, "monitor_target.c", "mlperf", files, (), False)


def model_table(models: Sequence[Generated]) -> str:
    """Return the C source of all models and of the list ``tested_models``."""
    rows = []
    for g in models:
        row_functions = [
            "0",
            "0",
            "0",
            "0",
        ]  # and the bytes of a row, for a model that takes its input row by row
        if g.streamed_input is not None:
            tensor = g.model.main.tensors[g.model.main.inputs[0]]
            names = ("begin_rows", "next_row", "row_ready")
            row_functions = [
                *(f"{g.prefix}model_{name}" for name in names),
                str(tensor.nbytes // tensor.shape[1]),
            ]
        rows.append(f"    {{&{g.prefix}model, {', '.join(row_functions)}}},")
    listed = "\n".join(rows)
    return (
        f'{combined_source(models)}\n#include "tested_models.h"\n'
        f"const tested_model tested_models[] = {{\n{listed}\n}};\n"
        f"const uint32_t tested_model_count = {len(models)};\n"
    )


def models_program(folder: Path, models: Sequence[Generated], main: str) -> Sources:
    """Return the sources of a program with generated models and the main file ``main``."""
    written = _write(folder, {"models.c": model_table(models)})
    kernels = sorted({name for g in models for name in g.engine_sources})
    return Sources(
        (*written, *(ENGINE.path(name) for name in kernels), HERE / main),
        (folder, HERE, *_folders(ENGINE.folder, SHARED)),
        ("AR_HOST=1",),
    )


def operator_models(per_operator: int = 1, seed: int = 0) -> list[tuple[Model, Target]]:
    """Return random models of every operator, each with a target. The targets take turns."""
    operators = sorted(load_all())
    return [
        (
            random_model(seed, case, operators, 2),
            FUZZ_TARGETS[(case + case // len(operators)) % len(FUZZ_TARGETS)],
        )
        for case in range(per_operator * len(operators))
    ]


def engine(folder: Path) -> Sources:
    """Return the sources of a program with two models of every operator, each for another target."""
    generated = [
        lower(model, f"m{k}_", target) for k, (model, target) in enumerate(operator_models(per_operator=2))
    ]
    return models_program(folder, generated, "engine_target.c")


def processing(folder: Path) -> Sources:
    """Return the sources of the pre- and postprocessing of libraries, with a function for each model."""
    calls = []
    with tempfile.TemporaryDirectory() as temporary:
        prepared = {
            name: save(model, extra, Path(temporary) / f"{name}.tflite")
            for name, (model, extra) in processing_models().items()
        }
    library = write_library_of(folder / "library", prepared)
    for name, p in prepared.items():
        u, header = name.upper(), (library / "src" / f"{name}_processing.h").read_text()
        graph = p.model.main
        lines = [
            f"    take(&input, {name}_model_output_{k}(), {graph.tensors[t].nbytes});"
            for k, t in enumerate(graph.outputs)
        ]
        if f"{u}_IMAGE_BYTES" in header:
            lines = [
                f"    uint8_t *image = copy(&input, {u}_IMAGE_BYTES);",
                f"    {name}_preprocess(image);",
                "    free(image);",
            ]
        elif f"{u}_SAMPLES" in header:
            lines = [
                f"    const uint32_t count = number(&input) % (2 * {u}_SAMPLES);",
                "    int16_t *samples = copy(&input, 2 * count);",
                f"    {name}_preprocess(samples, count);",
                "    free(samples);",
            ]
        elif f"{u}_BEST" in header:
            lines += [
                f"    ar_scored *best = room({u}_BEST * sizeof *best);",
                f"    EXPECT({name}_postprocess(best) <= {u}_BEST);",
                "    free(best);",
            ]
        elif f"{u}_BOXES" in header:
            lines += [
                f"    ar_box *boxes = room({u}_BOXES * sizeof *boxes);",
                f"    int32_t *points = room({u}_POINTS * sizeof *points);",
                f"    EXPECT({name}_postprocess(boxes, points) <= {u}_BOXES);",
                "    free(boxes);",
                "    free(points);",
            ]
        elif f"{u}_POINTS" in header:
            lines += [
                f"    int32_t *points = room(3 * {u}_POINTS * sizeof *points);",
                f"    EXPECT({name}_postprocess(points) <= {u}_POINTS);",
                "    free(points);",
            ]
        elif f"{u}_MASK_WIDTH" in header:
            lines += [
                f"    uint8_t *mask = room({u}_MASK_WIDTH * {u}_MASK_HEIGHT);",
                f"    {name}_postprocess(mask);",
                "    free(mask);",
            ]
        else:
            nbytes = graph.tensors[graph.inputs[0]].nbytes
            lines += [
                f"    int8_t *original = copy(&input, {nbytes});",
                f"    EXPECT({name}_postprocess(original) >= 0);",
                "    free(original);",
            ]
        calls.append((name, lines))
    functions = "\n".join(
        f"static void run_{name}(fuzz_input input)\n{{\n" + "\n".join(lines) + "\n}\n"
        for name, lines in calls
    )
    includes = "\n".join(f'#include "{name}_processing.h"\n#include "{name}_model.h"' for name, _ in calls)
    table = ", ".join(f"run_{name}" for name, _ in calls)
    _write(
        folder,
        {
            "processing_calls.h": f"{includes}\n\n{functions}\n"
            f"static void (*const calls[])(fuzz_input) = {{{table}}};\n"
        },
    )
    sources = sorted((library / "src").rglob("*.c"))
    return Sources(
        (*sources, HERE / "processing_target.c"), (folder, HERE, *_folders(library / "src")), ("AR_HOST=1",)
    )


#: The C fuzz targets by name. Each function writes generated sources into a folder and returns all sources.
C_TARGETS: dict[str, Callable[[Path], Sources]] = {
    "agent": agent,
    "agent_stream": agent_stream,
    "monitor": monitor,
    "engine": engine,
    "processing": processing,
}
