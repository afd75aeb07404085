/* Multiply expanded pixels with pairs of int4 filters on cores with the DSP extension.
 *
 * This works as in dot_s8_dsp.h, with these differences. Weights a and b of channels 2i and 2i+1 are the byte 16 * a +
 * b + 8: the upper half is a, the lower half is b + 8, which is not negative. SXTB16 widens two of the four bytes of a
 * word, and SMLAD sums 16 * A + B + 8 * X, where X is the sum of the inputs. The same SMLAD on only the low halves
 * gives B + 8 * X. The difference is 16 * A. 8 * X is computed for each pixel in advance, and subtracting it gives B.
 *
 * A filter pair is a sequence of words: 16 * b0 + b1 and b1 (the biases; if the requantization is one-sided, the top
 * byte of b1 is its offset for the second channel), then one word per four inputs. From the lowest byte on, its bytes
 * are for the first, third, second and fourth input, in the order in which the inputs are widened.
 *
 * The table of a one-sided requantization has offset0, multiplier0, multiplier1 for each pair; the two-sided table is
 * that of dot_s8_dsp.h. Inputs that fill up a group are part of X and of the sums, so they may have any value here,
 * too.
 */
#ifndef ARENITE_DOT_W4_DSP_H
#define ARENITE_DOT_W4_DSP_H

#include "dot_s8_dsp.h"

/* The fields of ar_dot_s8_dsp, followed by `sums`. */
typedef struct {
    int8_t *out;
    const int32_t *requant;
    int32_t rounding;
    int32_t shift;
    int32_t pixel;
    const int32_t *x;
    const int32_t *end;
    int32_t groups;
    int32_t form;
    const int32_t *pair;
    int32_t sums[3]; /* 8 * X of each pixel */
} ar_dot_w4_dsp;

void ar_dot3_w4_dsp(const ar_dot_w4_dsp *d);
void ar_dot2_w4_dsp(const ar_dot_w4_dsp *d);

/* Computes 8 * X of 2 or 3 pixels with `words` words each, an even number. */
void ar_sum8_dsp(const int32_t *x, int32_t words, int32_t pixels, int32_t *sums);

#endif
