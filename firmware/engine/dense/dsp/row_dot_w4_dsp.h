/* Multiplies one row of inputs, widened to int16, with quads of int4 filters, on cores with the DSP extension.
 *
 * This works as in row_dot_s8_dsp.h, with the bytes of dot_w4_dsp.h. A quad begins with four words from the biases b0
 * to b3 of its channels: 16 * b0 + b1, b1, 16 * b2 + b3, b3. Then, for every four inputs, there is a word of the first
 * pair and a word of the second pair. The requantization is one-sided, see dot_s8_dsp.h.
 */
#ifndef ARENITE_ROW_DOT_W4_DSP_H
#define ARENITE_ROW_DOT_W4_DSP_H

#include "dot_w4_dsp.h"

/* The fields of ar_row_dot_s8_dsp, with `sum` instead of `products`. */
typedef struct {
    int8_t *out;
    const int32_t *requant; /* for each pair: multiplier0, multiplier1, offset1, offset0 */
    int32_t rounding;
    int32_t shift;
    const int32_t *x;
    const int32_t *end;
    int32_t groups;
    const int32_t *quad;
    int32_t sum; /* 8 times the sum of the inputs */
} ar_row_dot_w4_dsp;

/* Computes the outputs of all quads from d->quad to d->end. */
void ar_row_dot4_w4_dsp(const ar_row_dot_w4_dsp *d);

#endif
