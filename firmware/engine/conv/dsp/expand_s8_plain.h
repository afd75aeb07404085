/* The functions of `expand_s8_dsp.h` in portable C instead of assembly, for tests on other machines. */
#ifndef ARENITE_EXPAND_S8_PLAIN_H
#define ARENITE_EXPAND_S8_PLAIN_H

#include "expand_s8_dsp.h"

/* Returns a word with `low` and `high` as int16 in its halves. */
static inline int32_t ar_expand_pair(int8_t low, int8_t high)
{
    return (int32_t)((uint32_t)(int32_t)high << 16 | (uint16_t)low);
}

/* Widens the inputs of `pixels` pixels (2 or 3). */
static inline int32_t *ar_expand_s8_plain(int32_t *x, const int8_t *const *rows, int32_t offset, int32_t step,
                                          int32_t count, int32_t groups, int32_t pixels)
{
    for (int32_t row = 0; row < count; row++) {
        const int8_t *in = rows[row] + offset;
        for (int32_t g = 0; g < groups; g++, in += 4, x += 2 * pixels) {
            for (int32_t i = 0; i < pixels; i++) {
                const int8_t *p = in + i * step;
                x[i] = ar_expand_pair(p[0], p[2]);
                x[pixels + i] = ar_expand_pair(p[1], p[3]);
            }
        }
    }
    return x;
}

#endif
