/* Widen the columns under 3 x 3 taps (or k_h x 3) at stride 1, for `dot_s8_dsp.h`.
 *
 * Neighboring pixels share columns, so each column is widened once and stored for every pixel that it belongs to. The
 * inputs of a filter are ordered by row, then by groups of four channels (split as in `expand_s8_dsp.h`), then by tap:
 * int16 [count][in_c / 4][3 taps][2][pixels][2]. Positions outside the image have the value of padding.
 */
#ifndef ARENITE_COLUMNS_S8_DSP_H
#define ARENITE_COLUMNS_S8_DSP_H

#include <stdint.h>

typedef struct {
    int32_t *x;
    const int8_t *padding_end; /* the end of in_c bytes of padding */
    int32_t in_c;              /* a multiple of four */
    int32_t count;             /* rows */
} ar_columns_s8_dsp;

/* Widen the 5 (or 4) columns under 3 (or 2) pixels, from `offset` bytes into each row on. rows[k] is 0 if the row is
 * padding. Bit 0 of `missing` is set if the first column is padding, bit 1 if the last column is. */
void ar_columns3_s8_dsp(const ar_columns_s8_dsp *c, const int8_t *const *rows, int32_t offset,
                        uint32_t missing);
void ar_columns2_s8_dsp(const ar_columns_s8_dsp *c, const int8_t *const *rows, int32_t offset,
                        uint32_t missing);

#endif
