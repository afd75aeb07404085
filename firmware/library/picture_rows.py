"""Write the functions of a library that take a picture row by row, as a camera delivers it: NAME_begin_picture() and
NAME_picture_row()."""

from __future__ import annotations

from arenite.converters.processing.image.plan import ImagePlan
from arenite.converters.processing.specification.pixel_formats import PIXEL_BYTES
from arenite.firmware.library.processing_writer import ProcessingWriter


def write_picture_rows(w: ProcessingWriter, plan: ImagePlan, scratch: str) -> None:
    """Write the functions for ``plan``, whose structure is already written. ``scratch`` is the address of its scratch
    memory. Pictures with several planes cannot arrive row by row: for them nothing is written."""
    if plan.format not in PIXEL_BYTES:
        return
    w.kernels.add("image_arrive.c")
    p = w.p
    streamed = w.g.streamed_input is not None
    tensor = w.g.model.main.tensors[w.g.model.main.inputs[0]]
    to = f"{p}model_next_row()" if streamed else f"{w.address(w.g.model.main.inputs[0])} + {p}picture_y * ROW"
    if not streamed:
        to = to.replace("ROW", str(tensor.nbytes // plan.canvas[1]))
    begin = f"    {p}model_begin_rows();\n" if streamed else ""
    ready = f"        {p}model_row_ready();\n" if streamed else ""
    w.header.append(
        f"/* Converts a picture of {plan.width}x{plan.height} pixels, {plan.format}, whose rows arrive one by one. Call"
        " begin_picture, then\n"
        " * picture_row for each row. When it returns 1, call model_invoke; the rows that follow are not needed. */\n"
        f"#define {w.upper}PICTURE_ROW_BYTES {plan.width * PIXEL_BYTES[plan.format]}\n"
        f"void {p}begin_picture(void);\nuint32_t {p}picture_row(const uint8_t *row);"
    )
    w.source.append(
        f"static ar_image_rows {p}picture_rows;\n"
        f"static uint16_t {p}picture_arrived, {p}picture_y; /* rows of the picture and of the input */\n\n"
        f"void {p}begin_picture(void)\n{{\n"
        f"    ar_image_begin(&{p}image, &{p}picture_rows, {scratch});\n{begin}"
        f"    {p}picture_arrived = 0;\n    {p}picture_y = 0;\n}}\n\n"
        f"uint32_t {p}picture_row(const uint8_t *row)\n{{\n"
        "    const ar_picture picture = {{row}, {0}};\n"
        f"    ar_image_arrive(&{p}image, &{p}picture_rows, &picture, {p}picture_arrived++, {p}picture_y);\n"
        f"    while ({p}picture_y < {plan.canvas[1]} && "
        f"ar_image_is_ready(&{p}image, {p}picture_arrived, {p}picture_y)) {{\n"
        f"        ar_image_row(&{p}image, &{p}picture_rows, &picture, {p}picture_y, {to});\n"
        f"        {p}picture_y++;\n{ready}    }}\n"
        f"    return {p}picture_y == {plan.canvas[1]};\n}}"
    )
