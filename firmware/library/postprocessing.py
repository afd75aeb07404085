"""Write the postprocessing of a model in a library: one function that turns its outputs into results, such as
classes or boxes."""

from __future__ import annotations

import numpy as np

from arenite.converters.processing.native import post_structs as structs
from arenite.converters.processing.post.detector_plan import BoxesPlan
from arenite.converters.processing.post.landmark_mask_plan import MaskPlan, PointsPlan
from arenite.converters.processing.post.plan import MsePlan, PostPlan, TopKPlan
from arenite.converters.processing.post.tensor_values import exp_table
from arenite.firmware.library.processing_writer import ProcessingWriter, number, struct


def write_post(w: ProcessingWriter, plan: PostPlan) -> None:
    """Write the function ``NAME_postprocess``, its declaration, its tables, and the list of sources that it needs."""
    w.includes.add("post.h")
    if isinstance(plan, TopKPlan):
        _classes(w, plan)
    elif isinstance(plan, MsePlan):
        _error(w, plan)
    elif isinstance(plan, BoxesPlan):
        _boxes(w, plan)
    elif isinstance(plan, PointsPlan):
        _points(w, plan)
    else:
        _mask(w, plan)


def _output(w: ProcessingWriter, index: int | None) -> str:
    """Return a C expression for the address of an output, "0" for None."""
    return "0" if index is None else w.address(w.g.model.main.outputs[index])


def _powers(w: ProcessingWriter, needed: bool) -> str:
    """Return the C name of the table of exponentials, "0" if it is not needed."""
    return w.table("powers", exp_table() if needed else None)


def _function(w: ProcessingWriter, kind: str, arguments: str, call: str) -> None:
    """Write a function of the type ``kind`` that runs the statement ``call``. The statement includes ``return``
    if the function returns a value."""
    w.header.append(f"{kind} {w.p}postprocess({arguments});")
    w.source.append(f"{kind} {w.p}postprocess({arguments})\n{{\n    {call};\n}}")


def _classes(w: ProcessingWriter, plan: TopKPlan) -> None:
    """Write the function that returns the best classes."""
    w.kernels |= {"top_k.c", "post_keys.c"}
    output = _output(w, plan.step.output)
    w.header.append(
        "/* Call it after an inference. It writes the best classes, best first, and returns their number. */\n"
        f"#define {w.upper}BEST {plan.step.k}"
    )
    if plan.values is None:
        numbers = f"AR_POST_{plan.dtype.upper()}, {plan.count}, {plan.step.k}, {number(plan.least)}"
        call = f"return ar_top_k({output}, {numbers}, best)"
    else:
        w.kernels |= {"softmax.c", "post_real.c"}
        fields = {
            "powers": _powers(w, True),
            "values": structs.values_fields(plan.values),
            **structs.softmax_fields(plan),
        }
        w.source.append(f"static const ar_softmax {w.p}softmax = {struct(fields)};")
        call = f"return ar_top_k_softmax(&{w.p}softmax, {output}, best)"
    _function(w, "uint32_t", f"ar_scored best[{w.upper}BEST]", call)


def _error(w: ProcessingWriter, plan: MsePlan) -> None:
    """Write the function that returns the mean squared error between input and output."""
    w.kernels |= {"mse.c", "post_real.c"}
    fields = {
        "input": structs.values_fields(plan.input),
        "output": structs.values_fields(plan.output),
        **structs.squares_fields(plan),
    }
    w.source.append(f"static const ar_squares {w.p}squares = {struct(fields)};")
    limit = ""
    if plan.step.threshold is not None:
        limit = f"\n#define {w.upper}ANOMALY {float(np.float32(plan.step.threshold))!r}f"
    w.header.append(
        "/* Call it after an inference. It returns the mean squared error between the output and `input`, a copy\n"
        f" * that you keep: the inference overwrites the model's input. */{limit}"
    )
    call = f"return ar_mse(&{w.p}squares, input, {_output(w, plan.step.output)})"
    _function(w, "float", "const void *input", call)


def _boxes(w: ProcessingWriter, plan: BoxesPlan) -> None:
    """Write the function that returns the boxes of a detector."""
    w.kernels |= {"boxes.c", "post_keys.c", "post_real.c"}
    fields = {
        "anchors": w.table("anchors", plan.anchors),
        "powers": _powers(w, structs.boxes_powers(plan)),
        **structs.boxes_values(plan),
        **structs.boxes_layouts(plan),
        **structs.boxes_fields(plan),
    }
    w.source.append(f"static const ar_boxes {w.p}boxes = {struct(fields)};")
    text = (
        "/* Call it after an inference. It writes boxes, best first, and returns their number, at most"
        f" {plan.nms.most}. */\n"
        f"#define {w.upper}BOXES {plan.candidates}"
    )
    arguments, points = f"ar_box found[{w.upper}BOXES]", "0"
    if plan.points:
        text += (
            f"\n/* Elements for x and y of the {plan.points} landmarks of each box. */\n"
            f"#define {w.upper}POINTS ({w.upper}BOXES * {2 * plan.points})"
        )
        arguments, points = f"{arguments}, int32_t points[{w.upper}POINTS]", "points"
    w.header.append(text)
    outputs = ", ".join(_output(w, index) for index in plan.outputs)
    _function(w, "uint32_t", arguments, f"return ar_detect(&{w.p}boxes, {outputs}, found, {points})")


def _points(w: ProcessingWriter, plan: PointsPlan) -> None:
    """Write the function that returns landmarks."""
    w.kernels |= {"points.c", "post_real.c"}
    fields = {
        "powers": _powers(w, structs.landmarks_powers(plan)),
        "values": structs.values_fields(plan.values),
        **structs.landmarks_fields(plan),
    }
    w.source.append(f"static const ar_landmarks {w.p}landmarks = {struct(fields)};")
    w.header.append(
        "/* Call it after an inference. It writes x, y and score of each point with 16 fractional bits, and\n"
        " * returns the number of points. */\n"
        f"#define {w.upper}POINTS {plan.count}"
    )
    call = f"ar_points(&{w.p}landmarks, {_output(w, plan.step.output)}, points);\n    return {plan.count}"
    if plan.presence is not None:
        output, least = plan.presence
        dtype = w.g.model.main.tensors[w.g.model.main.outputs[output]].dtype.upper()
        key = f"ar_key({_output(w, output)}, AR_POST_{dtype}, 0)"
        call = f"if ({key} < {number(least)}) {{\n        return 0;\n    }}\n    {call}"
    _function(w, "uint32_t", f"int32_t points[3 * {w.upper}POINTS]", call)


def _mask(w: ProcessingWriter, plan: MaskPlan) -> None:
    """Write the function that returns the class of each pixel."""
    w.kernels |= {"mask.c", "post_keys.c"}
    fields = {"pixel": structs.layout_fields(plan.pixel), **structs.segments_fields(plan)}
    w.source.append(f"static const ar_segments {w.p}segments = {struct(fields)};")
    height, width = plan.shape
    w.header.append(
        "/* Call it after an inference. It writes the class of each pixel, row by row. */\n"
        f"#define {w.upper}MASK_WIDTH {width}\n#define {w.upper}MASK_HEIGHT {height}"
    )
    call = f"ar_mask(&{w.p}segments, {_output(w, plan.step.output)}, mask)"
    _function(w, "void", f"uint8_t mask[{w.upper}MASK_WIDTH * {w.upper}MASK_HEIGHT]", call)
