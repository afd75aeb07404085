/* SQRT of int16. */
#ifndef ARENITE_SQRT_S16_H
#define ARENITE_SQRT_S16_H

#include <stdint.h>

typedef struct {
    const void *input;
    void *output;
    uint32_t count;
    float input_scale;
    float output_scale;
} ar_sqrt_s16_params;

/* Negative inputs are treated as zero. */
void ar_sqrt_s16(const ar_sqrt_s16_params *p);

#endif
