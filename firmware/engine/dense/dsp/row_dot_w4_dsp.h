/* Multiplies one expanded row of inputs with groups of four int4 filters, on cores with the DSP extension.
 *
 * This works as in row_dot_s8_dsp.h, with the bytes of dot_w4_dsp.h: a quad is four words of biases (16 * b0 + b1, b1,
 * 16 * b2 + b3, b3), then for every four inputs a word of the first pair and one of the second. The requantization is
 * one-sided.
 */
#ifndef ARENITE_ROW_DOT_W4_DSP_H
#define ARENITE_ROW_DOT_W4_DSP_H

#include "dot_w4_dsp.h"

typedef struct {
    int8_t *out;
    const int32_t *requant; /* per pair multiplier0, multiplier1, offset1, offset0 */
    int32_t rounding;
    int32_t shift;
    const int32_t *x;
    const int32_t *end;
    int32_t groups;
    const int32_t *quad;
    int32_t sum; /* 8 times the sum of the inputs */
} ar_row_dot_w4_dsp;

void ar_row_dot4_w4_dsp(const ar_row_dot_w4_dsp *d);

#endif
