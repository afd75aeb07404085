"""A model written by hand in C, for tests that need firmware but no converter.

The model has three layers on eight bytes: the first adds one to each byte, the second adds the bytes to sums that it
keeps between calls, and the third reverses the order.
"""

from __future__ import annotations

from collections.abc import Sequence

HASH = bytes(range(1, 9))
INPUT_BYTES = 8
LAYERS = 3

_HEADER = """\
#ifndef AR_MODEL_H
#define AR_MODEL_H
#include "arenite.h"
#define MODEL_LAYERS 3
extern const ar_model model;
#endif
"""

_WEIGHTS = """\
#include <stdint.h>
const int8_t step[16] __attribute__((section(".rodata.ar_weights.step"))) = {1, 1, 1, 1, 1, 1, 1, 1};
"""

_MODEL = """\
#include "model.h"

#define AT(offset) (model_memory.arena + (offset))
static struct {
    uint32_t head[AR_GUARD_WORDS];
    uint8_t arena[32];
    uint32_t tail[AR_GUARD_WORDS];
} model_memory __attribute__((aligned(16)));

extern const int8_t step[16];

static void add_step(void)
{
    for (int i = 0; i < 8; i++) {
        AT(8)[i] = (uint8_t)(AT(0)[i] + step[i]);
    }
}

static void running_sum(void)
{
    for (int i = 0; i < 8; i++) {
        AT(16)[i] = (uint8_t)(AT(16)[i] + AT(8)[i]);
    }
}

static void reverse(void)
{
    for (int i = 0; i < 8; i++) {
        AT(24)[i] = AT(16)[7 - i];
    }
    @EXTRA@
}

static void reset(void)
{
    for (int i = 0; i < 8; i++) {
        AT(16)[i] = 0;
    }
}

static const ar_layer_fn layers[] = {add_step, running_sum, reverse};
static const ar_io inputs[] = {{AT(0), 8, AR_INT8}};
static const ar_io outputs[] = {{AT(24), 8, AR_INT8}};
const ar_model model = {
    "toy", {1, 2, 3, 4, 5, 6, 7, 8}, inputs, outputs, layers, reset, model_memory.head, 32, 3, 1, 1, 0, 0,
};
"""


def sources(extra: str = "", name: str = "toy") -> dict[str, str]:
    """Return the model's files by name. ``extra`` is C code that runs at the end of the last layer."""
    model = _MODEL.replace("@EXTRA@", extra).replace('"toy"', f'"{name}"')
    return {"model.h": _HEADER, "model.c": model, "weights.c": _WEIGHTS}


def expected(inputs: Sequence[bytes], fresh: bool = True) -> list[bytes]:
    """Return the output that the device must compute for each of ``inputs``, in order. ``fresh`` says whether the sums
    are reset before each input."""
    outputs, state = [], [0] * 8
    for data in inputs:
        if fresh:
            state = [0] * 8
        state = [(s + d + 1) & 255 for s, d in zip(state, data, strict=True)]
        outputs.append(bytes(reversed(state)))
    return outputs
