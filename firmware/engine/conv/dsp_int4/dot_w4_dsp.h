/* Products of expanded pixels and pairs of int4 filters on cores with the DSP extension.
 *
 * As dot_s8_dsp.h, with these differences. Weights a and b of channels 2i and 2i+1 are the byte 16 * a + b + 8: the upper
 * half is a, the lower one b + 8 without a sign. SXTB16 widens two of the four bytes of a word, and SMLAD sums
 * 16 * A + B + 8 * X, X being the sum of the inputs; what is left of them under a mask of the low halves gives B + 8 * X.
 * The difference is 16 * A, and 8 * X, which is known of each pixel before, leaves B.
 *
 * A filter pair is a run of words: 16 * b0 + b1 and b1 (the biases; in the top byte of b1 the requantization's offset of
 * the second channel, where it is one-sided), then one word per four inputs: of the order in which they are widened, the
 * first, third, second and fourth from the lowest byte on.
 *
 * The table of a one-sided requantization has offset0, multiplier0, multiplier1 for each pair; the two-sided one is the
 * same as there. Inputs that fill up a group take part in X as in the sums, so they may be anything here too.
 */
#ifndef ARENITE_DOT_W4_DSP_H
#define ARENITE_DOT_W4_DSP_H

#include "dot_s8_dsp.h"

/* The fields of ar_dot_s8_dsp, and the sums. */
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

/* 8 * X of 2 or 3 pixels with that many words each, an even number. */
void ar_sum8_dsp(const int32_t *x, int32_t words, int32_t pixels, int32_t *sums);

#endif
