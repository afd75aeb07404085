"""A firmware that runs many random graphs one after another. It reads their inputs from a file and writes their outputs
to another, which takes a tenth of the time of the serial port."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from arenite.converters.graph.model import DTYPES
from arenite.firmware.generator.generated_model import Generated
from arenite.host.bench.native_model import combined_source

_INPUTS, _OUTPUTS = "inputs.bin", "outputs.bin"
_HOST_FILES = Path(__file__).with_name("host_files.h")

_SELECTOR = """\
#include "model.h"
#include "host_files.h"

{externs}

static const ar_model *const models[] = {{{models}}};
static uint32_t mode, wrong; /* the input that starts a run, and how many bytes could not be read or written */
static struct {{
    uint32_t head[AR_GUARD_WORDS], arena[1], tail[AR_GUARD_WORDS];
}} guarded;
static ar_io inputs[1], outputs[1];

/* Run every graph. */
static void run(void)
{{
    static const char input_name[] = "{inputs}", output_name[] = "{outputs}";
    const uint32_t in = open_file(input_name, sizeof input_name - 1, FOR_READING);
    const uint32_t out = open_file(output_name, sizeof output_name - 1, TO_CREATE);
    uint32_t k, i;
    wrong = 0;
    for (k = 0; k < sizeof models / sizeof models[0]; k++) {{
        const ar_model *m = models[k];
        if (m->reset) {{
            m->reset();
        }}
        for (i = 0; i < m->input_count; i++) {{
            wrong += read_file(in, m->inputs[i].data, m->inputs[i].bytes);
        }}
        for (i = 0; i < m->layer_count; i++) {{
            if (m->layers[i]) {{
                m->layers[i]();
            }}
        }}
        for (i = 0; i < m->output_count; i++) {{
            wrong += write_file(out, m->outputs[i].data, m->outputs[i].bytes);
        }}
    }}
    close_file(out);
    close_file(in);
}}

static void reset(void)
{{
    inputs[0].data = &mode;
    outputs[0].data = &wrong;
    inputs[0].bytes = outputs[0].bytes = 4;
    inputs[0].dtype = outputs[0].dtype = AR_INT32;
}}

static const ar_layer_fn layers[] = {{run}};
const ar_model model = {{
    .name = "fuzz", .inputs = inputs, .outputs = outputs, .layers = layers, .reset = reset, .guards = guarded.head,
    .arena_bytes = 4, .layer_count = 1, .input_count = 1, .output_count = 1,
}};
"""


def sources(batch: Sequence[Generated]) -> dict[str, str]:
    """Return the source files beside the graphs and ``model.h``, as a map of names to texts."""
    selector = _SELECTOR.format(
        externs="\n".join(f"extern const ar_model {g.prefix}model;" for g in batch),
        models=", ".join(f"&{g.prefix}model" for g in batch),
        inputs=_INPUTS,
        outputs=_OUTPUTS,
    )
    return {
        "model.c": selector,
        "graphs.c": combined_source(batch),
        _HOST_FILES.name: _HOST_FILES.read_text(),
    }


def write_inputs(folder: Path, inputs: Sequence[Sequence[np.ndarray]]) -> None:
    """Write the inputs of all graphs. The emulator runs in ``folder``."""
    (folder / _OUTPUTS).unlink(missing_ok=True)
    (folder / _INPUTS).write_bytes(
        b"".join(np.ascontiguousarray(x).tobytes() for graph in inputs for x in graph)
    )


def read_outputs(folder: Path, batch: Sequence[Generated]) -> Iterator[list[np.ndarray]]:
    """Yield the outputs of each graph."""
    data = (folder / _OUTPUTS).read_bytes()
    at = 0
    for g in batch:
        values = []
        for index in g.model.main.outputs:
            tensor = g.model.main.tensors[index]
            part = data[at : at + tensor.nbytes]
            at += tensor.nbytes
            values.append(np.frombuffer(part, DTYPES[tensor.dtype]).reshape(tensor.shape))
        yield values
    assert at == len(data)
