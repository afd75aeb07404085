"""Build firmware with pre- and postprocessing and run it on an emulated board."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.graph.model import Model
from arenite.converters.processing.post.plan import plan_post
from arenite.converters.processing.post.postprocessing import Postprocessing
from arenite.converters.processing.post.reference import Box, ScoredClass, postprocess
from arenite.converters.tflite.image import image_bytes
from arenite.files import write_atomic
from arenite.firmware.generator.target import Target
from arenite.host.bench.reference import Reference
from arenite.host.build.prepare import Prepared, prepare
from arenite.profiles.boards import load_board
from tests.firmware.library.bare_metal import link, run_program
from tests.firmware.library.libraries import write_library_of
from tests.fuzz.graph_builder import GraphBuilder
from tests.host.small_graphs import quant

#: The preprocessing of sound for the network kws01.
KEYWORD_STEPS: list[dict[str, Any]] = [
    {"do": "frame", "length": 480, "step": 320},
    {"do": "window"},
    {"do": "fft", "length": 512},
    {"do": "mel", "bins": 40, "low": 20, "high": 4000},
    {"do": "log", "offset": 1e-6},
    {"do": "mfcc", "coefficients": 10},
]
KEYWORD_SOUND: dict[str, Any] = {
    "source": {"kind": "audio", "rate": 16000, "samples": 16000},
    "steps": KEYWORD_STEPS,
}


@dataclass(frozen=True)
class Case:
    """A model, the bytes that the firmware receives, and the lines of numbers that it must print.

    The numbers are the values of the model's input 0, then the results of the postprocessing. ``program`` is the part
    of main() in C that receives the bytes, runs the model and prints the numbers."""

    prepared: Prepared
    source: bytes
    lines: list[list[int]]
    program: str


def save(model: Model, extra: dict[str, Any], path: Path) -> Prepared:
    """Write the model with the metadata ``extra`` as an image, and return it read back and planned."""
    write_atomic(path, image_bytes(model, None, extra=extra))
    return prepare(path)


def numbers_of(values: np.ndarray) -> list[int]:
    """Return the elements as integers. Floats are given by their bits."""
    return [int(v) for v in (values.view(np.int32) if values.dtype == np.float32 else values).reshape(-1)]


def answers(prepared: Prepared, inputs: list[np.ndarray]) -> list[int]:
    """Return the numbers that the program prints for the result of ``postprocess`` after an inference."""
    if "postprocessing" not in prepared.extra:
        return []
    graph = prepared.model.main
    tensors = [[graph.tensors[i] for i in side] for side in (graph.inputs, graph.outputs)]
    plan = plan_post(Postprocessing.from_json(prepared.extra["postprocessing"]), *tensors)
    result = postprocess(plan, inputs, Reference(prepared.reference).run(inputs))
    if isinstance(result, np.floating):
        return numbers_of(np.array([result], np.float32))
    if isinstance(result, np.ndarray):
        return numbers_of(result)
    numbers = []
    for entry in result:
        if isinstance(entry, ScoredClass):
            numbers += [entry.key, entry.index]
        elif isinstance(entry, Box):
            numbers += [
                entry.top,
                entry.left,
                entry.bottom,
                entry.right,
                entry.key,
                entry.index,
                entry.anchor,
                *entry.points,
            ]
    return numbers


SHOW_INPUT = """\
    for (uint32_t i = 0; i < {U}MODEL_INPUT_0_BYTES / sizeof(*{p}model_input_0()); i++) {{
        show_integer({shown});
    }}
    end_line();
    {p}model_invoke();
"""

SHOW_BEST = """\
    {{
        ar_scored best[{U}BEST];
        const uint32_t count = {p}postprocess(best);
        for (uint32_t i = 0; i < count; i++) {{
            show_integer(best[i].key);
            show_integer(best[i].index);
        }}
    }}
"""

MAIN = """\
{inclusions}
void read_input(void *to, uint32_t bytes);
void show_integer(int64_t value);
void end_line(void);
static uint8_t source[{max_bytes}] __attribute__((aligned(8)));
static int8_t input_copy[{max_bytes}];
int main(void)
{{
{program}
    for (;;) {{
    }}
}}
"""


def elementwise_model(*shapes: tuple[int, ...]) -> Model:
    """Return a model with one elementwise operator per input, so that outputs have the shapes of the inputs."""
    b = GraphBuilder(np.random.default_rng(6))
    inputs = [b.input(shape, "int8", quant(0.05, 4)) for shape in shapes]
    for x, shape in zip(inputs, shapes, strict=True):
        b.op("RELU", [x], [b.tensor(shape, "int8", quant(0.03, -100))])
    return b.build()


def direct_case(name: str, model: Model, post: dict[str, Any], show: str, folder: Path) -> Case:
    """Return a case without preprocessing: random inputs are sent unchanged. ``show`` is a template in C that prints
    the results of the postprocessing ``post``."""
    prepared = save(model, {"postprocessing": post}, folder / f"{name}.tflite")
    graph = prepared.model.main
    rng = np.random.default_rng(9)
    inputs = [rng.integers(-128, 128, graph.tensors[i].shape).astype(np.int8) for i in graph.inputs]
    # The prefix of the model's functions, the prefix of its macros, and the value of an input that is printed.
    p = {"p": f"{name}_", "U": f"{name.upper()}_", "shown": f"{name}_model_input_0()[i]"}
    text = "".join(f"    read_input({name}_model_input_{k}(), {v.size});\n" for k, v in enumerate(inputs))
    text += f"    __builtin_memcpy(input_copy, {name}_model_input_0(), {inputs[0].size});\n"
    text += SHOW_INPUT.format(**p) + show.format(**p)
    lines = [numbers_of(inputs[0]), answers(prepared, inputs)]
    return Case(prepared, b"".join(v.tobytes() for v in inputs), lines, text)


def run(
    cases: dict[str, Case], board_name: str, folder: Path, optimise: str = "speed", stream: bool = False
) -> list[list[int]]:
    """Run a program with all cases on an emulated board, and return the lines of numbers that it prints."""
    board = load_board(board_name)
    models = {name: case.prepared for name, case in cases.items()}
    library = write_library_of(
        folder / "library", models, Target.for_core(board.core, optimise, stream_input=stream)
    )
    (library / "examples/bare_metal/main.c").write_text(
        MAIN.format(
            inclusions="\n".join(f'#include "{name}_processing.h"' for name in cases),
            max_bytes=max(len(case.source) for case in cases.values()),
            program="\n".join(case.program + "    end_line();" for case in cases.values()),
        )
    )
    elf = link(library, board, folder, "-Wno-unused-variable")
    line_count = sum(case.program.count("end_line()") + 1 for case in cases.values())
    return run_program(board, elf, b"".join(case.source for case in cases.values()), line_count)
