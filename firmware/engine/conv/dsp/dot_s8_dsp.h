/* Multiply the inputs of 2 or 3 pixels, widened to int16, with pairs of int8 filters on cores with the DSP extension. A
 * pair is the filters of two output channels.
 *
 * Filters. Two output channels share one int16: weights a and b of channels 2i and 2i+1 are stored as 256 * a + b. Two
 * such halfwords, for two inputs, make a word, and SMLAD multiplies and adds both: sum(x * (256 * a + b)) is 256 * A +
 * B, where A and B are the sums of the two channels. SXTB16 extracts the low bytes, which are the weights b, and SMLAD
 * with these gives B. The difference of both sums is exactly 256 * A if |A| < 2^23, even if a sum wrapped around on the
 * way, so the generator requires |A| < 2^23. It rejects weights of -128 if 256 * a + b does not fit into 16 bits.
 *
 * A filter pair is a sequence of words. The first two words are 256 * b0 + b1 + offset0 and b1. The biases b0 and b1 of
 * the two channels include the input's zero point; offset0 is the offset in the requantization of the first channel.
 * Then there is one word for every two inputs. Weights of zero fill up the number of inputs to a multiple of four; four
 * inputs are a "group" and have two words. The inputs that are multiplied with these zeros may have any value.
 *
 * Pixels. The inputs of 2 or 3 neighboring pixels are widened ("expanded") to pairs of int16, so that one LDM loads the
 * same pair of inputs of every pixel: int16 [depth / 2][pixels][2], where depth is the number of inputs of a filter.
 * The functions of expand_s8_dsp.h and columns_s8_dsp.h widen them.
 *
 * Requantization, with x = 256 * sum + offset, where sum is A or B. Each channel has a multiplier and an offset; a
 * layer has a rounding and a shift. There are three forms:
 *     one-sided  out = saturate((x * multiplier + rounding * 2^32) >> (32 + shift))
 *     two-sided  the same, but x = 256 * sum + (offset ^ (sum >> 31))
 *     fixed      one-sided with the constant shift AR_DOT_SHIFT, which saves one instruction per output.
 * A two-sided requantization with the shift AR_DOT_SHIFT saves the instruction in ar_dot3_s8_dsp, too. For each pair
 * the table `requant` has multiplier0 and multiplier1; if two-sided, multiplier0, offset0, multiplier1 and offset1.
 * One-sided offsets are in the biases: offset0 as above, and offset1 as the top byte of b1. A rotation of B by 24 bits
 * gives 256 * B with that byte as its low byte (rotated_offset.py). The generator chooses these integers so that it can
 * prove that they give LiteRT's value for every sum that can occur (affine.py, fixed_shift.py, rotated_offset.py).
 */
#ifndef ARENITE_DOT_S8_DSP_H
#define ARENITE_DOT_S8_DSP_H

#include <stdint.h>

#define AR_DOT_SHIFT 12 /* the shift of the form AR_DOT_FIXED */
/* The forms of requantization. */
enum { AR_DOT_FIXED, AR_DOT_ONE_SIDED, AR_DOT_TWO_SIDED };

typedef struct {
    int8_t *out;            /* address of channel 2i of the first pixel */
    const int32_t *requant; /* the table's entry of pair i */
    int32_t rounding;       /* rounding and shift of the requantization, see above */
    int32_t shift;
    int32_t pixel;       /* distance in bytes from one output pixel to the next */
    const int32_t *x;    /* the widened inputs */
    const int32_t *end;  /* the end of the filters */
    int32_t groups;      /* number of inputs / 4, at least 1 */
    int32_t form;        /* AR_DOT_FIXED, ... */
    const int32_t *pair; /* filters of pair i */
} ar_dot_s8_dsp;

/* Compute the outputs of pair i to the last pair, for 3 or 2 pixels. */
void ar_dot3_s8_dsp(const ar_dot_s8_dsp *d);
void ar_dot2_s8_dsp(const ar_dot_s8_dsp *d);

#endif
