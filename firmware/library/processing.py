"""Write the pre- and postprocessing, the decision and the anomaly head of a model in a library: NAME_processing.h and
.c, and the C sources that they call.

The tables are computed here from the steps that the image records. Scratch memory is in the arena beside the inputs,
which is unused before an inference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite.converters.anomaly.head import KEY as ANOMALY_KEY
from arenite.converters.anomaly.head import AnomalyHead
from arenite.converters.anomaly.plan import AnomalyPlan, plan_anomaly
from arenite.converters.decision.plan import DecisionPlan, GatePlan, plan_decision, plan_gate
from arenite.converters.decision.record import recorded_decision, recorded_gate
from arenite.converters.graph.model import Tensor
from arenite.converters.processing.audio.front_end import plan_sound
from arenite.converters.processing.audio.micro_plan import MicroPlan
from arenite.converters.processing.audio.plan import AudioPlan
from arenite.converters.processing.image.plan import ImagePlan, source_plan
from arenite.converters.processing.imu.plan import ImuPlan, plan_imu
from arenite.converters.processing.native import structs
from arenite.converters.processing.post.plan import PostPlan, plan_post
from arenite.converters.processing.post.postprocessing import KEY as POST_KEY
from arenite.converters.processing.post.postprocessing import Postprocessing
from arenite.converters.processing.specification.image_steps import ImageSource
from arenite.converters.processing.specification.imu_steps import ImuSource
from arenite.converters.processing.specification.pixel_formats import buffer_bytes, planes_of
from arenite.converters.processing.specification.preprocessing import KEY as PRE_KEY
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.converters.processing.specification.record_fields import record_error
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.library.anomaly import write_anomaly
from arenite.firmware.library.decision import write_decision, write_gate
from arenite.firmware.library.motion import write_motion
from arenite.firmware.library.picture_rows import write_picture_rows
from arenite.firmware.library.postprocessing import write_post
from arenite.firmware.library.processing_writer import ProcessingWriter, struct
from arenite.firmware.library.sound import write_sound


@dataclass(frozen=True)
class Processing:
    """The preprocessing (``before``) and postprocessing (``after``) that a model's image records, bound to the
    model, and the decision, gate and anomaly head unless the caller has no use for them."""

    before: ImagePlan | AudioPlan | MicroPlan | ImuPlan | None
    after: PostPlan | None
    decision: DecisionPlan | None = None
    gate: GatePlan | None = None
    anomaly: AnomalyPlan | None = None


def bind_processing(
    g: Generated, extra: Mapping[str, Any], labels: Sequence[str] | None = None
) -> Processing | None:
    """Return the steps recorded in an image's ``extra``, bound to input 0 and the outputs of ``g``; None if it
    records none.

    ``labels`` are the names of the classes; with None, decision, gate and anomaly head are not bound.

    A model that takes its input row by row has no memory for a recording, so it gets no audio preprocessing.
    Raises ``UsageError`` for steps that do not fit the model.
    """
    graph = g.model.main
    inputs, outputs = ([graph.tensors[i] for i in side] for side in (graph.inputs, graph.outputs))
    before: ImagePlan | AudioPlan | MicroPlan | ImuPlan | None = None
    after = None
    rate = 0
    if PRE_KEY in extra:
        spec = Preprocessing.from_json(extra[PRE_KEY]).bound(inputs[0])
        if isinstance(spec.source, ImageSource):
            before = _image(spec, inputs[0])
        elif isinstance(spec.source, ImuSource):
            rate = int(spec.source.rate) if spec.source.rate == int(spec.source.rate) else 0
            before = _motion(spec, inputs[0]) if g.streamed_input is None else None
        else:
            rate = spec.source.rate
            before = _audio(spec, inputs[0]) if g.streamed_input is None else None
    if POST_KEY in extra:
        after = plan_post(Postprocessing.from_json(extra[POST_KEY]), inputs, outputs)
    decision = None if labels is None else recorded_decision(extra)
    gate = None if labels is None else recorded_gate(extra)
    head = None if labels is None else extra.get(ANOMALY_KEY)
    processing = Processing(
        before,
        after,
        None if decision is None else plan_decision(decision, outputs, labels or (), rate),
        None if gate is None else plan_gate(gate, rate),
        None if head is None else plan_anomaly(AnomalyHead.from_json(head), inputs, outputs),
    )
    return None if processing == Processing(None, None) else processing


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


def _audio(spec: Preprocessing, tensor: Tensor) -> AudioPlan | MicroPlan:
    """Return the plan that converts recordings to the input ``tensor``. Raises ``UsageError`` if the sizes differ."""
    plan = plan_sound(spec)
    if plan.frames * plan.features != tensor.elements:
        raise record_error(
            f"The preprocessing computes {plan.frames}x{plan.features} values, "
            f"but the input '{tensor.name}' has {tensor.elements}."
        )
    return plan


def _motion(spec: Preprocessing, tensor: Tensor) -> ImuPlan:
    """Return the plan that converts windows of a motion sensor to the input ``tensor``. Raises ``UsageError`` if the
    sizes differ."""
    plan = plan_imu(spec)
    rows, columns = plan.shape
    if rows * columns != tensor.elements:
        raise record_error(
            f"The preprocessing computes {rows}x{columns} values, "
            f"but the input '{tensor.name}' has {tensor.elements}."
        )
    return plan


def processing_files(
    g: Generated, processing: Processing, streams: bool = True, rows: bool = False, copies: bool = False
) -> dict[str, str]:
    """Return the text of each file by its name below ``src/``. Without ``streams``, there are no functions for endless
    recordings and for motion. With ``rows``, or if the model takes its input row by row, there are functions for
    pictures whose rows arrive one by one. With ``copies``, a window of an endless recording can be copied to the input
    of another model."""
    writer = ProcessingWriter(g)
    if isinstance(processing.before, ImagePlan):
        scratch = _write_image(writer, processing.before)
        if rows or g.streamed_input is not None:
            write_picture_rows(writer, processing.before, scratch)
    elif isinstance(processing.before, ImuPlan):
        if streams:
            write_motion(writer, processing.before, copies)
    elif processing.before is not None:
        write_sound(writer, processing.before, streams, copies)
    if processing.after is not None:
        write_post(writer, processing.after)
    if processing.decision is not None:
        write_decision(writer, processing.decision)
    if processing.gate is not None:
        write_gate(writer, processing.gate)
    if processing.anomaly is not None:
        write_anomaly(writer, processing.anomaly)
    return writer.files()


def _write_image(w: ProcessingWriter, plan: ImagePlan) -> str:
    """Write the functions that convert a picture to input 0, and their tables. Return the address of their scratch
    memory."""
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
    return scratch


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
