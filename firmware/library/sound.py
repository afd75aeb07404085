"""Write the preprocessing of sound in a library: ``NAME_preprocess`` converts a recording, ``NAME_feed`` an endless
one."""

from __future__ import annotations

from typing import Any

import numpy as np

from arenite.converters.processing.audio.micro_plan import MicroPlan
from arenite.converters.processing.audio.plan import AudioPlan
from arenite.converters.processing.audio.stream import stream_problem
from arenite.converters.processing.native import structs
from arenite.firmware.library.processing_writer import ProcessingWriter, struct, write_window_copy


def write_sound(
    w: ProcessingWriter, plan: AudioPlan | MicroPlan, streams: bool = True, copies: bool = False
) -> None:
    """Write the functions that convert sound to input 0, and their tables. Without ``streams``, only whole recordings
    can be converted. With ``copies``, a window can be copied to the input of another model."""
    tables: dict[str, np.ndarray | None]
    fields: dict[str, Any]
    if isinstance(plan, MicroPlan):
        kind, tables, fields = "micro", structs.micro_tables(plan), structs.micro_fields(plan)
        fields["noise"] = plan.noise.fields()
        scratch = w.scratch(structs.micro_scratch(plan))
        w.kernels |= {"micro.c", "fft16.c", "channels.c"}
    else:
        kind, tables, fields = "audio", structs.audio_tables(plan), structs.audio_fields(plan)
        scratch = w.scratch(structs.audio_scratch(plan))
        w.kernels |= {"audio.c", "fft.c", "logarithm.c"}
    w.includes.add(f"{kind}.h")
    fields |= {name: w.table(name, values) for name, values in tables.items()}
    fields["affine"] = structs.affine_fields(plan.affine, plan.dtype)
    w.source.append(f"static const ar_{kind} {w.p}{kind} = {struct(fields)};")
    w.header.append(
        f"/* Converts {plan.samples} samples of 16 bits to input 0. If there are fewer, silence fills the rest. */\n"
        f"#define {w.upper}SAMPLES {plan.samples}\n"
        f"void {w.p}preprocess(const int16_t *samples, uint32_t count);"
    )
    w.source.append(
        f"void {w.p}preprocess(const int16_t *samples, uint32_t count)\n{{\n"
        f"    ar_{kind}_run(&{w.p}{kind}, samples, count, {w.address(w.g.model.main.inputs[0])}, {scratch});\n}}"
    )
    if not streams:
        return
    problem = stream_problem(plan)
    if problem is None:
        _write_stream(w, plan, kind, scratch)
        if copies:
            write_window_copy(w)
    else:
        w.header.append(f"/* There is no {w.p}feed. {problem[0]} {problem[1]} */")


def default_advance(w: ProcessingWriter, plan: AudioPlan | MicroPlan) -> int:
    """Return the number of new rows from window to window: all rows for a model with state, which remembers the earlier
    ones itself, otherwise one."""
    return plan.frames if w.g.variables else 1


def _write_stream(w: ProcessingWriter, plan: AudioPlan | MicroPlan, kind: str, scratch: str) -> None:
    """Write the functions that convert an endless recording, frame by frame. ``kind`` names the front end, ``audio`` or
    ``micro``, and ``scratch`` is a C expression for the address of its scratch memory."""
    w.includes.add("audio_stream.h")
    w.kernels.add("audio_stream.c")
    p, upper = w.p, w.upper
    sizes = structs.windows_fields(plan, 1)
    w.header.append(
        _STREAM_HEADER.format(
            p=p,
            U=upper,
            hop=plan.step,
            rows=plan.frames,
            window=(plan.frames - 1) * plan.step + plan.length,
            advance=default_advance(w, plan),
            recording=_ALL_SAMPLES
            if sizes["memory_bytes"]
            else f"the recording that begins {upper}WINDOW samples before",
        )
    )
    windows = {
        **sizes,
        "convert": f"ar_{kind}_frame",
        "front": f"&{p}{kind}",
        "advance": f"{upper}ADVANCE",
    }
    state = {
        "plan": f"&{p}windows",
        "held": f"{p}held",
        "ring": f"{p}ring",
        "missing": f"{upper}ROWS",
    }
    if sizes["memory_bytes"]:
        state["memory"] = f"{p}memory"
        w.source.append(f"static uint32_t {p}memory[{sizes['memory_bytes'] // 4}];")
    w.source += [
        f"typedef char {p}advance_is_1_to_{plan.frames}"
        f"[{upper}ADVANCE >= 1 && {upper}ADVANCE <= {upper}ROWS ? 1 : -1];",
        f"static const ar_audio_windows {p}windows = {struct(windows)};",
        f"static int16_t {p}held[{plan.length}];",
        f"static uint32_t {p}ring[{-(-plan.frames * sizes['row_bytes'] // 4)}];",
        f"static ar_audio_stream {p}stream = {struct(state)};",
        f"uint32_t {p}feed(const int16_t *samples, uint32_t count)\n{{\n"
        f"    const uint32_t taken = ar_audio_feed(&{p}stream, samples, count, {scratch});\n"
        f"    if ({p}stream.is_complete) {{\n"
        f"        ar_audio_window(&{p}stream, {w.address(w.g.model.main.inputs[0])});\n    }}\n"
        f"    return taken;\n}}",
        f"int {p}is_ready(void) {{ return {p}stream.is_complete; }}",
        f"uint64_t {p}position(void) {{ return {p}stream.position; }}",
        f"void {p}restart(uint64_t position) {{ ar_audio_restart(&{p}stream, position); }}",
    ]


_ALL_SAMPLES = (
    "all samples since the start, because a row depends on those before its frame. It gives the newest rows"
)

_STREAM_HEADER = """\
/* Sound without an end: only new frames are computed, and input 0 has the newest rows of features.
 *
 * {p}feed takes up to `count` samples and returns how many it took: all, or fewer if input 0 is complete
 * after them. Then {p}is_ready returns 1: run the model, and call {p}feed again with the rest.
 * {p}position returns the number of samples taken. Input 0 has the bytes that {p}preprocess
 * computes for {recording}.
 * Read the outputs before the next call of {p}feed, because it may overwrite them.
 * {p}restart forgets all samples, after a gap; `position` is the index of the next sample. */
#define {U}HOP {hop} /* samples per row */
#define {U}ROWS {rows}
#define {U}WINDOW {window} /* samples that input 0 depends on */
#ifndef {U}ADVANCE
#define {U}ADVANCE {advance} /* new rows from one input to the next, 1 to {U}ROWS */
#endif
uint32_t {p}feed(const int16_t *samples, uint32_t count);
int {p}is_ready(void);
uint64_t {p}position(void);
void {p}restart(uint64_t position);"""
