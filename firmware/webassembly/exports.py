"""Write the exported functions of a WebAssembly module, and describe them.

``ModelExports`` has the names of a model's functions and the layouts of what they point to. All addresses are byte
offsets in the module's memory. The memory never grows, so an address and a typed array over it stay valid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from arenite.converters.graph.model import Tensor
from arenite.converters.processing.audio.micro_plan import MicroPlan
from arenite.converters.processing.audio.plan import AudioPlan
from arenite.converters.processing.image.plan import ImagePlan
from arenite.converters.processing.imu.plan import ImuPlan
from arenite.converters.processing.post.detector_plan import BoxesPlan
from arenite.converters.processing.post.landmark_mask_plan import MaskPlan, PointsPlan
from arenite.converters.processing.post.plan import MsePlan, PostPlan, TopKPlan
from arenite.converters.processing.specification.pixel_formats import buffer_bytes
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.library.processing import Processing


@dataclass(frozen=True)
class ModuleTensor:
    """An input or output. ``scale`` and ``zero_point`` are None for a tensor without quantization. ``row_bytes`` is set
    for an input that arrives in rows: the size of a row."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    scale: float | None
    zero_point: int | None
    row_bytes: int | None = None


@dataclass(frozen=True)
class ModuleScore:
    """How a sort key in the results becomes a score.

    The key of an integer ``dtype`` is the stored score: score = ``scale`` * (key - ``zero_point``). The key of a
    float32 score is its bit pattern, with the lower 31 bits inverted if it is negative. With ``logits``, a sigmoid
    follows.
    """

    dtype: str
    scale: float
    zero_point: int
    logits: bool


@dataclass(frozen=True)
class ModuleStep:
    """Preprocessing or postprocessing in the module.

    ``kind`` of preprocessing: ``image`` (the buffer has one picture in ``format``) or ``audio`` (int16 samples).
    ``kind`` of postprocessing: ``classes``, ``boxes``, ``points``, ``mask`` or ``error``.
    ``nbytes``: size of the buffer that ``NAME_image``, ``NAME_samples`` or ``NAME_results`` returns; 0 for ``error``.
    ``count``: the maximum number of samples or results. ``points``: landmarks per box. ``score``: for classes and
    boxes.
    """

    kind: str
    nbytes: int
    count: int
    width: int | None = None
    height: int | None = None
    format: str | None = None
    points: int = 0
    score: ModuleScore | None = None


@dataclass(frozen=True)
class ModelExports:
    """The exported functions of the model ``name``; all integers are 32-bit.

    ``NAME_invoke()`` runs one inference. Write the inputs before each one; read the outputs before the next one of any
    model.
    ``NAME_input(k)``, ``NAME_output(k)`` return the address of input or output k, a multiple of 16 in most plans and
    always of the element size. ``NAME_hash()`` returns the address of the first eight bytes of ``image_sha256``.
    ``NAME_reset()`` (only with ``stateful``) resets the state. Call it before the first inference.
    ``NAME_begin_rows()``, ``NAME_next_row()``, ``NAME_row_ready()`` (only if input 0 has ``row_bytes``): while
    next_row returns an address, fill the row and call row_ready; then call NAME_invoke. NAME_input(0) returns 0.
    ``NAME_image()`` or ``NAME_samples()`` (only with ``before``) returns the address of the picture or the samples.
    ``NAME_preprocess()``, for audio ``NAME_preprocess(count)``, converts them to input 0. If input 0 has ``row_bytes``,
    it calls the functions for rows itself.
    ``NAME_postprocess()`` (only with ``after``) returns the number of results at ``NAME_results()``: structs of 32-bit
    numbers. ``classes``: key, index. ``boxes``: top, left, bottom, right, key, and class as uint16 with the anchor's
    number as uint16; ``NAME_points()`` has y and x of the landmarks as in ``ar_detect``. ``points``: x, y, score.
    ``mask``: a byte per pixel. For ``error`` it returns the mean squared error as f32.
    """

    name: str
    image_sha256: str
    inputs: tuple[ModuleTensor, ...]
    outputs: tuple[ModuleTensor, ...]
    stateful: bool
    before: ModuleStep | None
    after: ModuleStep | None

    def as_json(self) -> dict[str, Any]:
        """Return the description with only JSON types."""
        return asdict(self)


def model_exports(g: Generated, processing: Processing | None) -> ModelExports:
    """Return the description of the exports of ``g``, whose prefix is its name with an underscore."""
    graph = g.model.main
    streams = g.streamed_input is not None
    inputs = [
        _tensor(graph.tensors[t], rows=streams and position == 0) for position, t in enumerate(graph.inputs)
    ]
    outputs = [_tensor(graph.tensors[t]) for t in graph.outputs]
    steps = None if processing is None else processing.before
    # A page has no source of motion, so a module has no functions for it.
    before = None if steps is None or isinstance(steps, ImuPlan) else _preprocessing(steps)
    after = (
        None if processing is None or processing.after is None else _postprocessing(processing.after, outputs)
    )
    if after is not None and after.kind == "error" and streams:
        after = None  # the error is computed from a copy of the complete input
    return ModelExports(
        g.prefix.removesuffix("_"),
        g.sha256.hex(),
        tuple(inputs),
        tuple(outputs),
        bool(g.variables),
        before,
        after,
    )


def _tensor(tensor: Tensor, rows: bool = False) -> ModuleTensor:
    """Return the description of ``tensor``. ``rows`` is True for an input that arrives in rows."""
    quantized = tensor.quant is not None and not tensor.quant.per_axis
    return ModuleTensor(
        tensor.name,
        tensor.dtype,
        tuple(tensor.shape),
        tensor.nbytes,
        float(tensor.scale) if quantized else None,
        int(tensor.zero_point) if quantized else None,
        tensor.nbytes // tensor.shape[1] if rows else None,
    )


def _preprocessing(plan: ImagePlan | AudioPlan | MicroPlan) -> ModuleStep:
    """Return the description of the preprocessing ``plan``."""
    if not isinstance(plan, ImagePlan):
        return ModuleStep("audio", 2 * plan.samples, plan.samples)
    size = buffer_bytes(plan.format, plan.width, plan.height)
    return ModuleStep("image", size, 1, plan.width, plan.height, plan.format)


#: Bytes of the structures in the results: ``ar_scored``, ``ar_box``, a point (x, y, score), a landmark (y, x).
_SCORED_BYTES, _BOX_BYTES, _POINT_BYTES, _LANDMARK_BYTES = 8, 24, 12, 8


def _postprocessing(plan: PostPlan, outputs: Sequence[ModuleTensor]) -> ModuleStep:
    """Return the description of the postprocessing ``plan`` of a model with these outputs."""
    if isinstance(plan, TopKPlan):
        scores = outputs[plan.step.output]
        # The keys after a softmax have 16 fractional bits.
        score = ModuleScore("int32", 1 / 65536, 0, False)
        if plan.values is None:
            score = ModuleScore(scores.dtype, scores.scale or 1.0, scores.zero_point or 0, plan.step.logits)
        return ModuleStep("classes", _SCORED_BYTES * plan.step.k, plan.step.k, score=score)
    if isinstance(plan, MsePlan):
        return ModuleStep("error", 0, 1)
    if isinstance(plan, BoxesPlan):
        score = ModuleScore(plan.numbers.dtype, plan.key_scale, plan.key_zero, plan.logits)
        return ModuleStep(
            "boxes", _BOX_BYTES * plan.candidates, plan.nms.most, points=plan.points, score=score
        )
    if isinstance(plan, PointsPlan):
        return ModuleStep("points", _POINT_BYTES * plan.count, plan.count)
    assert isinstance(plan, MaskPlan)
    height, width = plan.shape
    return ModuleStep("mask", height * width, height * width, width, height)


def exports_source(models: Sequence[ModelExports]) -> str:
    """Return the C source of the exported functions of all models."""
    parts = [_HEAD]
    for m in models:
        header = "processing.h" if m.before or m.after else "model.h"
        parts.append(f'#include "{m.name}_{header}"')
    for m in models:
        parts += _model_functions(m)
    return "\n".join(parts) + "\n"


_HEAD = """\
/* Generated by Arenite: the functions that the WebAssembly module exports. */
#include <stdint.h>

#define EXPORT(name) __attribute__((export_name(#name)))
"""


def export_buffer_bytes(m: ModelExports) -> int:
    """Return the total bytes of the buffers that the exported functions of a model need. Each buffer has a multiple of
    16 bytes."""
    sizes = [0 if step is None else step.nbytes for step in (m.before, m.after)]
    if m.after is not None and m.after.points:
        sizes.append(m.after.nbytes // _BOX_BYTES * _LANDMARK_BYTES * m.after.points)
    if m.after is not None and m.after.kind == "error":
        sizes.append(m.inputs[0].nbytes)
    return sum(-(-size // 16) * 16 for size in sizes)


def _model_functions(m: ModelExports) -> list[str]:
    """Return the C declarations of the buffers and exported functions of one model."""
    n, upper = m.name, m.name.upper()
    streams = bool(m.inputs and m.inputs[0].row_bytes)

    def function(name: str, body: str, kind: str = "void", arguments: str = "void") -> str:
        full = f"{n}_{name}"
        return f"EXPORT({full})\n{kind} ar_export_{full}({arguments})\n{{\n    {body}\n}}"

    def buffer(name: str, c_type: str, count: int | str) -> str:
        return f"static {c_type} {n}_{name}_buffer[{count}] __attribute__((aligned(16)));"

    invoke = f"{n}_model_invoke();"
    parts = []
    if m.after is not None and m.after.kind == "error":
        words = math.ceil(m.inputs[0].nbytes / 4)
        parts.append(buffer("copy", "uint32_t", words))
        invoke = (
            f"__builtin_memcpy({n}_copy_buffer, {n}_model.inputs[0].data, {m.inputs[0].nbytes});\n    "
            + invoke
        )
    input_address = f"k == 0 ? 0 : {n}_model.inputs[k].data" if streams else f"{n}_model.inputs[k].data"
    parts += [
        function("invoke", invoke),
        function("input", f"return {input_address};", "void *", "uint32_t k"),
        function("output", f"return {n}_model.outputs[k].data;", "void *", "uint32_t k"),
        function("hash", f"return {n}_model.hash;", "const uint8_t *"),
    ]
    if m.stateful:
        parts.append(function("reset", f"{n}_model_reset();"))
    if streams:
        parts += [
            function("begin_rows", f"{n}_model_begin_rows();"),
            function("next_row", f"return {n}_model_next_row();", "int8_t *"),
            function("row_ready", f"{n}_model_row_ready();"),
        ]
    if m.before is not None and m.before.kind == "image":
        parts += [
            buffer("image", "uint8_t", m.before.nbytes),
            function("image", f"return {n}_image_buffer;", "uint8_t *"),
            function("preprocess", f"{n}_preprocess({n}_image_buffer);"),
        ]
    elif m.before is not None:
        parts += [
            buffer("samples", "int16_t", m.before.count),
            function("samples", f"return {n}_samples_buffer;", "int16_t *"),
            function("preprocess", f"{n}_preprocess({n}_samples_buffer, count);", arguments="uint32_t count"),
        ]
    return parts + _post_functions(m, function, buffer, upper)


def _post_functions(m: ModelExports, function: Any, buffer: Any, upper: str) -> list[str]:
    """Return the C declarations of the buffers and exported functions for postprocessing. ``function`` and ``buffer``
    are the functions of ``_model_functions`` that return one declaration, and ``upper`` is the model's name in capital
    letters."""
    n, after = m.name, m.after
    if after is None:
        return []
    if after.kind == "error":
        return [function("postprocess", f"return {n}_postprocess({n}_copy_buffer);", "float")]
    c_type, count = {
        "classes": ("ar_scored", f"{upper}_BEST"),
        "boxes": ("ar_box", f"{upper}_BOXES"),
        "points": ("int32_t", f"3 * {upper}_POINTS"),
        "mask": ("uint8_t", f"{upper}_MASK_WIDTH * {upper}_MASK_HEIGHT"),
    }[after.kind]
    parts = [
        buffer("results", c_type, count),
        function("results", f"return {n}_results_buffer;", "void *"),
    ]
    arguments = f"{n}_results_buffer"
    if after.points:
        parts += [
            buffer("points", "int32_t", f"{upper}_POINTS"),
            function("points", f"return {n}_points_buffer;", "int32_t *"),
        ]
        arguments += f", {n}_points_buffer"
    if after.kind == "mask":
        body = f"{n}_postprocess({arguments});\n    return {count};"
    else:
        body = f"return {n}_postprocess({arguments});"
    return [*parts, function("postprocess", body, "uint32_t")]
