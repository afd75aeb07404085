/* Widen input columns to int16 for the kernels of dot_s8_dsp.h, for filters 3 taps wide at a horizontal stride of 1.
 *
 * A column of a row is in_c bytes: the channels of one input pixel. The windows of neighboring output pixels share
 * columns, so each column is widened once and stored for every output pixel that reads it. The result is int16
 * [count][in_c / 4][3][2][pixels][2]. These indices are the row, the group of four channels, the tap, the half of the
 * group (channels 0 and 2, or 1 and 3, as in expand_s8_dsp.h), the output pixel and the channel in the half. Positions
 * outside the image have the value of padding.
 */
#ifndef ARENITE_COLUMNS_S8_DSP_H
#define ARENITE_COLUMNS_S8_DSP_H

#include <stdint.h>

typedef struct {
    int32_t *x;                /* where the widened columns are stored */
    const int8_t *padding_end; /* the end of in_c bytes of padding */
    int32_t in_c;              /* a multiple of four */
    int32_t count;             /* number of rows of the filter */
} ar_columns_s8_dsp;

/* ar_columns3_s8_dsp widens the 5 columns that 3 output pixels read, ar_columns2_s8_dsp the 4 columns that 2 output
 * pixels read. The first column begins `offset` bytes after the start of each row. rows[k] is the address of row k, or
 * 0 if the row is padding. Bit 0 of `missing` is 1 if the first column is padding; bit 1 is 1 if the last column is. */
void ar_columns3_s8_dsp(const ar_columns_s8_dsp *c, const int8_t *const *rows, int32_t offset,
                        uint32_t missing);
void ar_columns2_s8_dsp(const ar_columns_s8_dsp *c, const int8_t *const *rows, int32_t offset,
                        uint32_t missing);

#endif
