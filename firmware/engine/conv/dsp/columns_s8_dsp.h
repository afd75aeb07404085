/* Widening of the columns under 3 x 3 taps (or k_h x 3) at stride 1, for `dot_s8_dsp.h`.
 *
 * Neighbouring pixels share columns, so each column is widened once and stored for every pixel. The inputs of a filter
 * are row by row, in groups of four channels as `expand_s8_dsp.h` splits them, those of the three taps after each other:
 * int16 [count][in_c / 4][3 taps][2][pixels][2]. What lies outside the image reads as padding.
 */
#ifndef ARENITE_COLUMNS_S8_DSP_H
#define ARENITE_COLUMNS_S8_DSP_H

#include <stdint.h>

typedef struct {
    int32_t *x;
    const int8_t *padding_end; /* after in_c bytes of padding */
    int32_t in_c;              /* a multiple of four */
    int32_t count;             /* rows */
} ar_columns_s8_dsp;

/* 3, or 2, pixels: 5, or 4, columns from `offset` bytes into each row on. rows[k] is 0 where that is padding; `missing`
 * has bit 0 where the first column is, and bit 1 where the last one is. */
void ar_columns3_s8_dsp(const ar_columns_s8_dsp *c, const int8_t *const *rows, int32_t offset,
                        uint32_t missing);
void ar_columns2_s8_dsp(const ar_columns_s8_dsp *c, const int8_t *const *rows, int32_t offset,
                        uint32_t missing);

#endif
