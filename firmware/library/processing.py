"""Write the pre- and postprocessing of a model in a library: NAME_processing.h and .c, and the C sources that they
call.

The tables are computed here from the steps that the image records. Scratch memory is in the arena beside the inputs,
which is unused before an inference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite.converters.graph.model import Tensor
from arenite.converters.processing.audio.plan import AudioPlan, plan_audio
from arenite.converters.processing.image.plan import ImagePlan, source_plan
from arenite.converters.processing.native import structs
from arenite.converters.processing.post.plan import PostPlan, plan_post
from arenite.converters.processing.post.postprocessing import KEY as POST_KEY
from arenite.converters.processing.post.postprocessing import Postprocessing
from arenite.converters.processing.specification.image_steps import ImageSource
from arenite.converters.processing.specification.pixel_formats import buffer_bytes, planes_of
from arenite.converters.processing.specification.preprocessing import KEY as PRE_KEY
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.converters.processing.specification.record_fields import record_error
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.library.postprocessing import write_post
from arenite.firmware.library.processing_writer import ProcessingWriter, struct


@dataclass(frozen=True)
class Processing:
    """The preprocessing (``before``) and postprocessing (``after``) that a model's image records, bound to the
    model."""

    before: ImagePlan | AudioPlan | None
    after: PostPlan | None


def bind_processing(g: Generated, extra: Mapping[str, Any]) -> Processing | None:
    """Return the steps recorded in an image's ``extra``, bound to input 0 and the outputs of ``g``; None if it
    records none.

    A model that takes its input row by row has no memory for a recording, so it gets no audio preprocessing.
    Raises ``UsageError`` for steps that do not fit the model.
    """
    graph = g.model.main
    inputs, outputs = ([graph.tensors[i] for i in side] for side in (graph.inputs, graph.outputs))
    before: ImagePlan | AudioPlan | None = None
    after = None
    if PRE_KEY in extra:
        spec = Preprocessing.from_json(extra[PRE_KEY]).bound(inputs[0])
        if isinstance(spec.source, ImageSource):
            before = _image(spec, inputs[0])
        elif g.streamed_input is None:
            before = _audio(spec, inputs[0])
    if POST_KEY in extra:
        after = plan_post(Postprocessing.from_json(extra[POST_KEY]), inputs, outputs)
    return Processing(before, after) if before or after else None


def _image(spec: Preprocessing, tensor: Tensor) -> ImagePlan:
    """Return the plan that converts pictures to the input ``tensor``. Raises ``UsageError`` if the tensor is no
    picture."""
    shape = tensor.shape
    if len(shape) == 3:
        shape = (*shape, 1) if shape[0] == 1 else (1, *shape)
    if len(shape) != 4:
        raise record_error(
            f"The shape of input '{tensor.name}' is {'x'.join(map(str, tensor.shape))}, which is not that of a picture."
        )
    return source_plan(spec, shape[3], shape[2], shape[1])


def _audio(spec: Preprocessing, tensor: Tensor) -> AudioPlan:
    """Return the plan that converts recordings to the input ``tensor``. Raises ``UsageError`` if the sizes differ."""
    plan = plan_audio(spec)
    if plan.frames * plan.features != tensor.elements:
        raise record_error(
            f"The preprocessing computes {plan.frames}x{plan.features} values, "
            f"but the input '{tensor.name}' has {tensor.elements}."
        )
    return plan


def processing_files(g: Generated, processing: Processing) -> dict[str, str]:
    """Return the text of each file by its name below ``src/``."""
    writer = ProcessingWriter(g)
    if isinstance(processing.before, ImagePlan):
        _write_image(writer, processing.before)
    elif processing.before is not None:
        _write_audio(writer, processing.before)
    if processing.after is not None:
        write_post(writer, processing.after)
    return writer.files()


def _write_image(w: ProcessingWriter, plan: ImagePlan) -> None:
    """Write the functions that convert a picture to input 0, and their tables."""
    row, column, finish = structs.kernels(plan)
    w.includes.add("image.h")
    format_ = row.rpartition("_")[2]
    w.kernels |= {"image_run.c", f"image_row_{format_}.c", f"{column.removeprefix('ar_')}.c"}
    w.kernels |= {f"{finish.removeprefix('ar_')}.c", "image_rows.h", "image_steps.h"}
    axes = {
        side: {
            "start": w.table(f"{side}_start", axis.start.astype(np.uint16)),
            "weights": w.table(f"{side}_weights", axis.weights),
            "outputs": axis.outputs,
            "taps": axis.taps,
        }
        for side, axis in (("across", plan.across), ("down", plan.down))
    }
    fields = {
        "row": row,
        "column": column,
        "finish": finish,
        **axes,
        "table": w.table("levels", plan.table),
        "affine": structs.affine_fields(plan.affine, plan.dtype),
        **structs.image_fields(plan),
    }
    w.source.append(f"static const ar_image {w.p}image = {struct(fields)};")
    scratch = w.scratch(structs.image_scratch(plan))
    planes, strides = ["image"], []
    size = 0
    for row_bytes, rows in planes_of(plan.format, plan.width, plan.height):
        strides.append(str(row_bytes))
        size += row_bytes * rows
        planes.append(f"image + {size}")
    name = f"{w.p}preprocess"
    w.header.append(
        f"/* Converts a picture of {plan.width}x{plan.height} pixels, {plan.format}, to input 0. */\n"
        f"#define {w.upper}IMAGE_WIDTH {plan.width}\n#define {w.upper}IMAGE_HEIGHT {plan.height}\n"
        f"#define {w.upper}IMAGE_BYTES {buffer_bytes(plan.format, plan.width, plan.height)}\n"
        f"void {name}(const uint8_t *image);\n"
        f"/* The same, with your own planes and strides. */\nvoid {name}_picture(const ar_picture *picture);"
    )
    w.source.append(
        f"void {name}_picture(const ar_picture *picture)\n{{\n{_fill(w, scratch)}}}\n\n"
        f"void {name}(const uint8_t *image)\n{{\n"
        f"    const ar_picture picture = {{{{{', '.join(planes[:-1])}}}, {{{', '.join(strides)}}}}};\n"
        f"    {name}_picture(&picture);\n}}"
    )


def _fill(w: ProcessingWriter, scratch: str) -> str:
    """Return the statements that convert ``picture`` to input 0: all of it, or the rows that the model requests."""
    if w.g.streamed_input is None:
        return f"    ar_image_run(&{w.p}image, picture, {w.address(w.g.model.main.inputs[0])}, {scratch});\n"
    return (
        "    ar_image_rows state;\n    uint32_t y = 0;\n    int8_t *row;\n"
        f"    ar_image_begin(&{w.p}image, &state, {scratch});\n"
        f"    {w.p}model_begin_rows();\n"
        f"    while ((row = {w.p}model_next_row()) != 0) {{\n"
        f"        ar_image_row(&{w.p}image, &state, picture, y++, row);\n"
        f"        {w.p}model_row_ready();\n    }}\n"
    )


def _write_audio(w: ProcessingWriter, plan: AudioPlan) -> None:
    """Write the function that converts a recording to input 0, and its tables."""
    w.includes.add("audio.h")
    w.kernels |= {"audio.c", "fft.c", "logarithm.c"}
    fields = {
        **{name: w.table(name, values) for name, values in structs.audio_tables(plan).items()},
        **structs.audio_fields(plan),
        "affine": structs.affine_fields(plan.affine, plan.dtype),
    }
    w.source.append(f"static const ar_audio {w.p}audio = {struct(fields)};")
    scratch = w.scratch(structs.audio_scratch(plan))
    w.header.append(
        f"/* Converts {plan.samples} samples of 16 bits to input 0. If there are fewer, silence fills the rest. */\n"
        f"#define {w.upper}SAMPLES {plan.samples}\n"
        f"void {w.p}preprocess(const int16_t *samples, uint32_t count);"
    )
    w.source.append(
        f"void {w.p}preprocess(const int16_t *samples, uint32_t count)\n{{\n"
        f"    ar_audio_run(&{w.p}audio, samples, count, {w.address(w.g.model.main.inputs[0])}, {scratch});\n}}"
    )
