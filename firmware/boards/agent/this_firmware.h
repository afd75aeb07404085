/* The description of this firmware, which the generated main.c defines. */
#ifndef ARENITE_THIS_FIRMWARE_H
#define ARENITE_THIS_FIRMWARE_H

#include "arenite.h"

typedef struct {
    const ar_model *model;
    const char *board; /* the profile's name */
    ar_io layer_ticks; /* one uint32_t per layer: ticks of its latest run */
    /* Takes `bytes` bytes of input 0 from `offset` on, and computes every row for which the input has arrived.
     * Returns 1, or 0 if the bytes do not follow the earlier ones (offset 0 starts a new input). A call with 0 bytes
     * returns whether the input is complete; after it the input must be sent again. The pointer is 0 if the model
     * does not stream. */
    uint32_t (*take_rows)(uint32_t offset, const uint8_t *data, uint32_t bytes);
} ar_firmware;

extern const ar_firmware ar_this_firmware;

#endif
