/* Computes one output of a depthwise convolution in plain C, with constants in the layout of depthwise_s8_mve.h. */
#ifndef ARENITE_DEPTHWISE_BLOCK_S8_MVE_H
#define ARENITE_DEPTHWISE_BLOCK_S8_MVE_H

#include "depthwise_s8_mve.h"
#include "fixed_point.h"

/* Returns channel `c` of the output whose inputs are `at` bytes after the `count` addresses in `taps`. */
static inline int8_t ar_depthwise_output(const int8_t *const *taps, int32_t count, int32_t at, int32_t c,
                                         const int32_t *weights, const int32_t *scales, int32_t output_zero)
{
    const int32_t lane = c % 16;
    const int32_t place = ar_depthwise_place(lane);
    const int32_t *bias = weights + (c / 16) * (16 + 4 * count);
    const int32_t *multiplier = scales + (c / 16) * 20;
    const int8_t *w = (const int8_t *)(bias + 16);
    const int8_t *shift = (const int8_t *)(multiplier + 16);
    uint32_t sum = (uint32_t)bias[place];
    for (int32_t t = 0; t < count; t++) {
        sum += (uint32_t)(taps[t][at + c] * w[16 * t + lane]);
    }
    const int32_t scaled = ar_requant((int32_t)sum, multiplier[place], shift[place]) + output_zero;
    return (int8_t)ar_clamp(scaled, INT8_MIN, INT8_MAX);
}

#endif
