/* Multiplies one expanded row of inputs with groups of four int8 filters, on cores with the DSP extension.
 *
 * As in dot_s8_dsp.h two channels share one int16. Here two such pairs, a quad, are stored together. A quad is
 * four words of biases (256 * b0 + b1 + offset0, b1, 256 * b2 + b3 + offset2, b3), then for every two inputs a word of
 * the first pair and one of the second. The number of inputs is padded with zero weights to a multiple of 8, a group.
 * Inputs are int16 [depth], each four of them in the order 0, 2, 1, 3. The requantization is one-sided.
 */
#ifndef ARENITE_ROW_DOT_S8_DSP_H
#define ARENITE_ROW_DOT_S8_DSP_H

#include <stdint.h>

typedef struct {
    int8_t *out;            /* the quad's first output */
    const int32_t *requant; /* per pair multiplier0, multiplier1, offset1 */
    int32_t rounding;
    int32_t shift;
    const int32_t *x;    /* the expanded inputs */
    const int32_t *end;  /* the end of the filters */
    int32_t groups;      /* inputs / 8, at least 1 */
    const int32_t *quad; /* filters of the quad */
} ar_row_dot_s8_dsp;

/* Computes the outputs of this quad to the last one. */
void ar_row_dot4_s8_dsp(const ar_row_dot_s8_dsp *d);

#endif
