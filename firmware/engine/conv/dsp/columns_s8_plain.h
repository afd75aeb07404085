/* The functions of `columns_s8_dsp.h` in portable C instead of assembly, for tests on other machines. */
#ifndef ARENITE_COLUMNS_S8_PLAIN_H
#define ARENITE_COLUMNS_S8_PLAIN_H

#include "columns_s8_dsp.h"

/* Widens the columns that `pixels` output pixels (2 or 3) read. */
static inline void ar_columns_s8_plain(const ar_columns_s8_dsp *c, const int8_t *const *rows, int32_t offset,
                                       uint32_t missing, int32_t pixels)
{
    const int8_t *const padding = c->padding_end - c->in_c;
    typedef int16_t __attribute__((__may_alias__)) half; /* half a word of scratch memory */
    half *x = (half *)c->x;
    for (int32_t k = 0; k < c->count; k++) {
        for (int32_t g = 0; g < c->in_c; g += 4) {
            for (int32_t tap = 0; tap < 3; tap++) {
                for (int32_t i = 0; i < pixels; i++) {
                    const int32_t column = tap + i;
                    const int32_t is_padding =
                        (column == 0 && (missing & 1)) || (column == pixels + 1 && (missing & 2)) || !rows[k];
                    const int8_t *in = (is_padding ? padding : rows[k] + offset + column * c->in_c) + g;
                    x[2 * i] = in[0];
                    x[2 * i + 1] = in[2];
                    x[2 * (pixels + i)] = in[1];
                    x[2 * (pixels + i) + 1] = in[3];
                }
                x += 4 * pixels;
            }
        }
    }
}

#endif
