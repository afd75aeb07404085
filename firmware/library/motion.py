"""Write the preprocessing of a motion sensor in a library: ``NAME_preprocess`` converts a window, ``NAME_feed`` an
endless recording."""

from __future__ import annotations

import numpy as np

from arenite.converters.processing.audio.plan import AudioPlan
from arenite.converters.processing.imu.plan import ImuPlan
from arenite.converters.processing.native import structs
from arenite.firmware.library.processing_writer import ProcessingWriter, struct, write_window_copy


def write_motion(w: ProcessingWriter, plan: ImuPlan, copies: bool = False) -> None:
    """Write the functions that convert samples of a motion sensor to input 0, and their tables. With ``copies``, a
    window can be copied to the input of another model."""
    p, upper = w.p, w.upper
    w.includes |= {"imu.h", "audio_stream.h"}
    # The object of imu.c refers to the bands, whether or not they are used.
    w.kernels |= {"imu.c", "audio.c", "fft.c", "logarithm.c", "audio_stream.c"}
    bands = "0" if plan.bands is None else _write_bands(w, plan.bands)
    fields = {
        "bands": bands,
        "statistics": w.table("statistics", np.array(plan.statistics, np.uint8) if plan.statistics else None),
        **structs.imu_fields(plan),
        "affine": structs.affine_fields(plan.affine, plan.dtype),
    }
    w.source.append(f"static const ar_imu {p}imu = {struct(fields)};")
    scratch = w.scratch(structs.imu_scratch(plan)) if plan.per_axis else "0"
    to = w.address(w.g.model.main.inputs[0])
    sizes = structs.imu_windows_fields(plan)
    w.header.append(_HEADER.format(p=p, U=upper, axes=plan.axes, window=plan.window, hop=plan.hop))
    windows = {
        **sizes,
        "convert": "ar_imu_frame",
        "front": f"&{p}imu",
        "step": f"{upper}HOP * {upper}AXES",
    }
    # A window is one row, which is written to the input when it is complete, or kept for a second input.
    state = {"plan": f"&{p}windows", "held": f"{p}held", "ring": f"{p}ring" if copies else to, "missing": 1}
    feed = f"ar_audio_feed(&{p}stream, samples, {upper}AXES * count, {scratch}) / {upper}AXES"
    if copies:
        w.source.append(f"static uint32_t {p}ring[{-(-sizes['row_bytes'] // 4)}];")
    w.source += [
        f"static const ar_audio_windows {p}windows = {struct(windows)};",
        f"static int16_t {p}held[{sizes['length']}];",
        f"static ar_audio_stream {p}stream = {struct(state)};",
        f"void {p}preprocess(const int16_t *samples) {{ ar_imu_frame(&{p}imu, 0, samples, {to}, {scratch}); }}",
        f"uint32_t {p}feed(const int16_t *samples, uint32_t count)\n{{\n"
        + (
            f"    const uint32_t taken = {feed};\n"
            f"    if ({p}stream.is_complete) {{\n        ar_audio_window(&{p}stream, {to});\n    }}\n"
            "    return taken;\n}"
            if copies
            else f"    return {feed};\n}}"
        ),
        f"int {p}is_ready(void) {{ return {p}stream.is_complete; }}",
        f"uint64_t {p}position(void) {{ return {p}stream.position / {upper}AXES; }}",
        f"void {p}restart(uint64_t position) {{ ar_audio_restart(&{p}stream, {upper}AXES * position); }}",
    ]
    if copies:
        write_window_copy(w)


def _write_bands(w: ProcessingWriter, bands: AudioPlan) -> str:
    """Write the tables of the bands, and return the C expression of their address."""
    fields = {
        **{name: w.table(name, values) for name, values in structs.audio_tables(bands).items()},
        **structs.audio_fields(bands),
        "affine": structs.affine_fields(bands.affine, bands.dtype),
    }
    w.source.append(f"static const ar_audio {w.p}bands = {struct(fields)};")
    return f"&{w.p}bands"


_HEADER = """\
/* Converts a window of a motion sensor to input 0: {window} moments with a sample of each axis. */
#define {U}AXES {axes}u
#define {U}WINDOW {window} /* moments */
#ifndef {U}HOP
#define {U}HOP {hop}u /* moments from window to window */
#endif
void {p}preprocess(const int16_t *samples);
/* The same for an endless recording, with a new window every {U}HOP moments.
 *
 * {p}feed takes up to `count` moments and returns how many it took: all, or fewer if input 0 is complete
 * after them. Then {p}is_ready returns 1: run the model, and call {p}feed again with the rest.
 * {p}position returns the number of moments taken.
 * Read the outputs before the next call of {p}feed, because it may overwrite them.
 * {p}restart forgets all samples, after a gap; `position` is the index of the next moment. */
uint32_t {p}feed(const int16_t *samples, uint32_t count);
int {p}is_ready(void);
uint64_t {p}position(void);
void {p}restart(uint64_t position);"""
