"""Write example programs that use a library's models: bare metal, Arduino, Zephyr, ESP-IDF, Pico SDK and NuttX.

Each program does this for one model after the other: read its inputs, invoke it, show its outputs. The next model then
overwrites the arena.
"""

from __future__ import annotations

from collections.abc import Sequence

from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.generator.model_header import C_TYPES, io_names
from arenite.firmware.library.example_builds import example_builds
from arenite.firmware.library.manifests import Library


def examples(library: Library, models: Sequence[Generated]) -> dict[str, str]:
    """Return the text of each example file by its path in the library."""
    inclusions = "\n".join(f'#include "{header}"' for header in library.headers)
    steps = "\n\n".join(_inference(g) for g in models)
    resets = "".join(f"    {g.prefix}model_reset();\n" for g in models if g.variables)
    program = f"{_fill_rows(models)}static void run_models(void)\n{{\n{steps}\n}}\n"
    return {
        "examples/bare_metal/main.c": _BARE_METAL.format(
            inclusions=inclusions, program=program, resets=resets
        ),
        "examples/Inference/Inference.ino": _ARDUINO.format(
            inclusions="\n".join(f"#include <{header}>" for header in library.headers),
            program=program,
            resets=resets,
        ),
        "examples/zephyr/src/main.c": _STDIO.format(
            inclusions=inclusions,
            program=program,
            resets=resets,
            main="int main(void)",
            body=_ONCE,
        ),
        "examples/esp_idf/main/main.c": _STDIO.format(
            inclusions=inclusions,
            program=program,
            resets=resets,
            main="void app_main(void)",
            body="    run_models();\n",
        ),
        "examples/pico/main.c": _STDIO.format(
            inclusions=f'#include "pico/stdlib.h"\n{inclusions}',
            program=program,
            resets=f"    stdio_init_all();\n{resets}",
            main="int main(void)",
            body="    for (;;) {\n        run_models();\n        sleep_ms(1000);\n    }\n",
        ),
        "examples/nuttx/main.c": _STDIO.format(
            inclusions=inclusions,
            program=program,
            resets=f"    (void)argc;\n    (void)argv;\n{resets}",
            main="int main(int argc, char *argv[])",
            body=_ONCE,
        ),
        **example_builds(library),
    }


def _fill_rows(models: Sequence[Generated]) -> str:
    """Return the row callbacks of the models that take their input row by row."""
    text = ""
    for g in models:
        if g.streamed_input is not None:
            size = f"{g.prefix.upper()}MODEL_INPUT_0_ROW_BYTES"
            text += (
                f"static void {g.prefix}row(int8_t *row, uint32_t index, void *context)\n{{\n"
                f"    (void)index;\n    (void)context;\n    read_input(row, {size});\n}}\n\n"
            )
    return text


def _inference(g: Generated) -> str:
    """Return the statements that run one model."""
    p, upper = g.prefix, g.prefix.upper()
    lines = [f"/* {g.name} */"]
    for kind, k, tensor in io_names(g):
        name, size = f"{p}model_{kind}_{k}", f"{upper}MODEL_{kind.upper()}_{k}_BYTES"
        if kind == "input" and tensor.nbytes and not (k == 0 and g.streamed_input is not None):
            lines.append(f"read_input({name}(), {size});")
    call = f"{p}model_invoke_rows({p}row, 0);" if g.streamed_input is not None else f"{p}model_invoke();"
    lines.append(call)
    for kind, k, tensor in io_names(g):
        if kind == "output" and tensor.nbytes and tensor.dtype in C_TYPES:
            number = "show_real" if tensor.dtype == "float32" else "show_integer"
            count = f"{upper}MODEL_OUTPUT_{k}_ELEMENTS"
            lines += [
                f"for (uint32_t i = 0; i < {count}; i++) {{",
                f"    {number}({p}model_output_{k}()[i]);",
                "}",
                "end_line();",
            ]
    return "\n".join(f"    {line}" for line in lines)


_BARE_METAL = """\
/* Runs all models, one after the other, on a board without an operating system. Compile it with all of src/ and your
 * start-up code. */
{inclusions}

/* Write these functions: fill an input, for example from a sensor; use the numbers of an output. */
void read_input(void *to, uint32_t bytes);
void show_integer(int64_t value);
void show_real(float value);
void end_line(void);

{program}
int main(void)
{{
{resets}    for (;;) {{
        run_models();
    }}
}}
"""

_ARDUINO = """\
/* Runs all models, one after the other: reads input bytes from the serial port and prints each output on one line. */
{inclusions}

/* Replace these functions: fill an input, for example from a sensor; use the numbers of an output. */
static void read_input(void *to, uint32_t bytes)
{{
    uint8_t *at = static_cast<uint8_t *>(to);
    while (bytes > 0) {{
        if (Serial.available() > 0) {{
            *at++ = static_cast<uint8_t>(Serial.read());
            bytes--;
        }} else {{
            yield();
        }}
    }}
}}

static inline void show_integer(long value)
{{
    Serial.print(value);
    Serial.print(' ');
}}

static inline void show_real(float value)
{{
    Serial.print(value);
    Serial.print(' ');
}}

static inline void end_line() {{ Serial.println(); }}

{program}
void setup()
{{
    Serial.begin(115200);
{resets}}}

void loop() {{ run_models(); }}
"""

_ONCE = "    run_models();\n    return 0;\n"

_STDIO = """\
/* Runs all models, one after the other. */
#include <stdio.h>
{inclusions}

/* Replace this function: fill an input from a sensor. */
static void read_input(void *to, uint32_t bytes)
{{
    for (uint8_t *at = to; bytes > 0; bytes--) {{
        *at++ = (uint8_t)bytes;
    }}
}}

static inline void show_integer(int64_t value) {{ printf("%ld ", (long)value); }}
static inline void show_real(float value) {{ printf("%g ", (double)value); }}
static inline void end_line(void) {{ printf("\\n"); }}

{program}
{main}
{{
{resets}{body}}}
"""
