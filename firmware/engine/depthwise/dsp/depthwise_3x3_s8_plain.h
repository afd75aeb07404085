/* The functions of `depthwise_3x3_s8_dsp.h` in portable C instead of assembly, for tests on other machines. */
#ifndef ARENITE_DEPTHWISE_3X3_S8_PLAIN_H
#define ARENITE_DEPTHWISE_3X3_S8_PLAIN_H

#include "depthwise_3x3_s8_dsp.h"

/* Returns the int16 at `index` of `words`, low halfword first. */
static inline int32_t ar_dw_half(const int32_t *words, int32_t index)
{
    return (int16_t)((uint32_t)words[index / 2] >> (index % 2 * 16));
}

/* Returns the output whose window begins at pixel x of `lines`. `entry` is the channel's entry for the first line. */
static inline int8_t ar_dw_sum(const ar_dw_row *row, const int32_t *entry, const int32_t *lines, int32_t x)
{
    int64_t sum = entry[0];
    for (int32_t k = 0; k < 3; k++) {
        const int32_t *weights = entry + 4 * k + 1;
        for (int32_t tap = 0; tap < 3; tap++) {
            sum += ar_dw_half(weights, tap ? tap + 1 : 0) * ar_dw_half(lines + 4 * k, x + tap);
        }
    }
    const int64_t y = (sum * entry[3] + row->rounding * ((int64_t)1 << 32)) >> (32 + 8);
    return (int8_t)(y < -128 ? -128 : y > 127 ? 127 : y);
}

/* Computes one output row of a group like the assembly kernels. */
static inline void ar_dw_row_plain(const ar_dw_row *row, int32_t stride)
{
    const int32_t outputs = AR_DW_PIXELS / stride;
    const int32_t *lines = row->lines;
    int8_t *out = row->out;
    for (;; lines += AR_DW_BLOCK_WORDS, out += outputs * row->pixel) {
        const int32_t count = lines == row->full ? row->part : outputs;
        int32_t c = 0;
        for (const int32_t *entry = row->channels; entry != row->end; entry += 24, c++) {
            for (int32_t q = 0; q < count; q++) {
                out[q * row->pixel + c] = ar_dw_sum(row, entry, lines + 12 * c, q * stride);
            }
        }
        if (lines == row->full || (lines + AR_DW_BLOCK_WORDS == row->full && !row->part)) {
            return;
        }
    }
}

#endif
