/* Multiplies one row of inputs, widened to int16, with quads of int8 filters, on cores with the DSP extension.
 *
 * As in dot_s8_dsp.h, two output channels are a pair, whose weights share one int16. Here two pairs are stored
 * together: a quad. A quad begins with four words from the biases b0 to b3 of its channels: 256 * b0 + b1 + offset0,
 * b1, 256 * b2 + b3 + offset2, b3. Then, for every two inputs, there is a word of the first pair and a word of the
 * second pair. Weights of zero fill up the number of inputs to a multiple of eight; eight inputs are a group. The
 * inputs are int16 [8 * groups], every four inputs in the order 0, 2, 1, 3.
 *
 * The sum of a pair's second channel needs half as many products (Winograd, 1968). For two inputs x0 and x1 with
 * weights w0 and w1,
 *     x0 * w0 + x1 * w1 = (x1 + w0) * (x0 + w1) - x0 * x1 - w0 * w1.
 * SXTAB16 adds two weights to two inputs. The products of inputs are summed once for all filters, in `products`. The sum
 * of the products of weights is subtracted from b1 in the second word, and from b3 in the fourth.
 *
 * The requantization is the one-sided form of dot_s8_dsp.h, but the offset of a pair's second channel is the third
 * word of its entry in `requant` instead of the top byte of its bias.
 */
#ifndef ARENITE_ROW_DOT_S8_DSP_H
#define ARENITE_ROW_DOT_S8_DSP_H

#include <stdint.h>

typedef struct {
    int8_t *out;            /* address of the first quad's first output */
    const int32_t *requant; /* for each pair: both multipliers, and the offset of its second channel */
    int32_t rounding;       /* rounding and shift of the requantization, see dot_s8_dsp.h */
    int32_t shift;
    int32_t products;    /* sum of the products of inputs, see widen_row */
    const int32_t *x;    /* the widened inputs */
    const int32_t *end;  /* the end of the filters */
    int32_t groups;      /* number of inputs / 8, rounded up, at least 1 */
    const int32_t *quad; /* filters of the first quad */
} ar_row_dot_s8_dsp;

/* Computes the outputs of all quads from d->quad to d->end. */
void ar_row_dot4_s8_dsp(const ar_row_dot_s8_dsp *d);

/* The same with the constant shift AR_ROW_SHIFT: as in dot_s8_dsp.h, the offset of a pair's second channel is the top byte
 * of its bias. The four multipliers of a quad follow after its weights. `requant` and `shift` are not used. */
#define AR_ROW_SHIFT 8
void ar_row_dot4_fixed_s8_dsp(const ar_row_dot_s8_dsp *d);

#endif
