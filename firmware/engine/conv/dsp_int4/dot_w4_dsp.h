/* Multiply the inputs of 2 or 3 pixels, widened to int16, with pairs of int4 filters on cores with the DSP extension.
 *
 * This works as in dot_s8_dsp.h, with these differences. Weights a and b of channels 2i and 2i+1 are stored as the byte
 * 16 * a + b + 8: the upper four bits are a, the lower four bits are b + 8, which is not negative. SXTB16 widens two of
 * the four bytes of a word, and SMLAD sums 16 * A + B + 8 * X, where X is the sum of the inputs. SMLAD with only the
 * lower four bits gives B + 8 * X. The difference of both sums is 16 * A. 8 * X is computed for each pixel in advance;
 * B + 8 * X minus this number is B.
 *
 * A filter pair is a sequence of words. The first two words are 16 * b0 + b1 and b1, from the biases b0 and b1 of the
 * two channels. If the requantization is one-sided, the top byte of b1 is the offset of the second channel. Then there
 * is one word for every group of four inputs. From the lowest byte on, its bytes are the weights for the inputs 0, 2, 1
 * and 3 of the group.
 *
 * The table of a one-sided requantization has offset0, multiplier0 and multiplier1 for each pair; dot_s8_dsp.h
 * describes the table of a two-sided requantization. Inputs that only fill up a group have weights of zero. They are
 * part of X and of the sums, so they may have any value here, too.
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

/* Compute the outputs of pair i to the last pair, for 3 or 2 pixels. */
void ar_dot3_w4_dsp(const ar_dot_w4_dsp *d);
void ar_dot2_w4_dsp(const ar_dot_w4_dsp *d);

/* Computes 8 * X of each of `pixels` pixels (2 or 3). `x` has the widened inputs, `words` words for each pixel; `words`
 * is even. */
void ar_sum8_dsp(const int32_t *x, int32_t words, int32_t pixels, int32_t *sums);

#endif
