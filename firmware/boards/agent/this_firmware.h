/* The description of this firmware, which the generated main.c defines. */
#ifndef ARENITE_THIS_FIRMWARE_H
#define ARENITE_THIS_FIRMWARE_H

#include "arenite.h"

typedef struct {
    const ar_model *model;
    const char *board; /* the profile's name */
    ar_io layer_ticks; /* one uint32_t per layer: ticks of its latest run */
    /* Takes `bytes` of input 0 from `offset` on and computes what they allow. Returns 1, or 0 when the bytes do not
     * follow those before (offset 0 starts a new input). A call without bytes asks whether the input is complete; after
     * it the input must be sent again. 0 for a model whose inputs are complete in memory before it runs. */
    uint32_t (*take_rows)(uint32_t offset, const uint8_t *data, uint32_t bytes);
} ar_firmware;

extern const ar_firmware ar_this_firmware;

#endif
