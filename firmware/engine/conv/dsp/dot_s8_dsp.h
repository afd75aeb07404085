/* Multiply expanded pixels with pairs of int8 filters on cores with the DSP extension.
 *
 * Filters. Two output channels share one int16: weights a and b of channels 2i and 2i+1 are stored as 256 * a + b. Two
 * such halfwords, for two inputs, make a word, and SMLAD multiplies and adds both: sum(x * (256 * a + b)) is 256 * A +
 * B, A and B being the sums of the two channels. SXTB16 extracts the low bytes, the weights b, and the same SMLAD on
 * them gives B. The difference is exactly 256 * A if |A| < 2^23, even if sums wrapped around on the way, so the
 * generator requires that. It rejects weights of -128 if 256 * a + b would not fit 16 bits.
 *
 * A filter pair is a sequence of words: 256 * b0 + b1 + offset0, b1 (the biases, which include the input's zero point,
 * and offset0, which the requantization adds for the first channel), then one word per two inputs. The number of inputs
 * is padded with zero weights to a multiple of four (a "group", two words). The inputs at the padding may have any
 * value.
 *
 * Pixels. The inputs of 2 or 3 neighboring pixels are widened to int16 pairs, so that one LDM fetches the same pair of
 * inputs of every pixel: int16 [depth / 2][pixels][2]; `expand_s8_dsp.h` computes them.
 *
 * Requantization, with x = 256 * sum + offset:
 *     one-sided  out = saturate((x * multiplier + rounding * 2^32) >> (32 + shift))
 *     two-sided  the same, but x = 256 * sum + (offset ^ (sum >> 31))
 *     fixed      one-sided with the constant shift AR_DOT_SHIFT, which saves one instruction per output.
 * A two-sided requantization with that shift saves the instruction, too. For each pair the table has multiplier0,
 * multiplier1; if two-sided, multiplier0, offset0, multiplier1, offset1. One-sided offsets are in the biases: offset0
 * as above, offset1 as the top byte of b1; a rotation by 24 bits moves it into the low byte of 256 * B
 * (rotated_offset.py). The generator chooses these integers so that it can prove that they give LiteRT's value for
 * every sum that can occur (affine.py, fixed_shift.py, rotated_offset.py).
 */
#ifndef ARENITE_DOT_S8_DSP_H
#define ARENITE_DOT_S8_DSP_H

#include <stdint.h>

#define AR_DOT_SHIFT 12
enum { AR_DOT_FIXED, AR_DOT_ONE_SIDED, AR_DOT_TWO_SIDED };

typedef struct {
    int8_t *out;            /* channel 2i of the first pixel */
    const int32_t *requant; /* the table's entry of pair i */
    int32_t rounding;
    int32_t shift;
    int32_t pixel;       /* bytes from one pixel of the output to the next */
    const int32_t *x;    /* the expanded pixels */
    const int32_t *end;  /* the end of the filters */
    int32_t groups;      /* inputs / 4, at least 1 */
    int32_t form;        /* AR_DOT_FIXED, ... */
    const int32_t *pair; /* filters of the pair i */
} ar_dot_s8_dsp;

/* Compute the outputs of pair i to the last pair, for 3 (or 2) pixels. */
void ar_dot3_s8_dsp(const ar_dot_s8_dsp *d);
void ar_dot2_s8_dsp(const ar_dot_s8_dsp *d);

#endif
