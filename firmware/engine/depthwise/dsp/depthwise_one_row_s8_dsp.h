/* DEPTHWISE_CONV_2D, int8, depth multiplier 1, stride 1, of images with a single row (or column, which is the same), on
 * cores with the DSP extension.
 *
 * The kernel computes four channels (a group) at a time. It widens the row of each of these channels to int16, so that
 * SMLAD multiplies two neighboring pixels of one channel: its "line". A block is six outputs.
 *
 * The results are exact. Weights and bias are multiplied by 256, so a sum is 256 * acc. The generator has proven that the
 * sum fits 32 bits, and that this is LiteRT's output, where x is the sum plus the offset, or plus ~offset if the sum is
 * negative:
 *
 *     out = saturate((x * multiplier + rounding * 2^32) >> (32 + AR_DW_LINES_SHIFT))
 *
 * A channel's constants are the bias, two words of weights for each step, the multiplier and the offset. For the weights
 * w0, w1, ..., the two words of step i are (w[2i], w[2i+1]) for outputs with an even number and (w[2i-1], w[2i]) for those
 * with an odd number, low halfword first. Weights that do not exist are 0. Three steps are a round. */
#ifndef ARENITE_DEPTHWISE_ONE_ROW_S8_DSP_H
#define ARENITE_DEPTHWISE_ONE_ROW_S8_DSP_H

#include <stdint.h>

#define AR_DW_LINES_SHIFT 12

/* The parameters for computing channels, in the order in which the assembly loads them. */
typedef struct {
    int32_t rounding; /* see the formula above */
    int32_t back;     /* bytes from where a block ends to read its line to the beginning of the next block */
    int8_t *out;      /* the first channel of the first output */
    int32_t pixel;    /* bytes from one output to the next: the number of channels */
    const int32_t *taps;  /* the constants of the first channel */
    const int32_t *lines; /* the line of the first channel */
    int32_t line;         /* bytes of a line */
    int32_t rounds;       /* number of steps / 3 */
    int32_t blocks;       /* number of full blocks */
    int32_t part;         /* number of outputs in an incomplete last block; 0 if all blocks are full */
    int32_t channels;     /* number of channels to compute */
} ar_dw_one_row;

void ar_depthwise_lines_s8_dsp(const ar_dw_one_row *row);

typedef struct {
    const int8_t *input;                      /* [batches][width][channels] */
    int8_t *output;                           /* [batches][out_w][channels] */
    const int32_t *taps;                      /* [channels][3 + 6 * rounds], see above */
    void *scratch;                            /* int16 [4][2 * words] */
    int32_t rounding;                         /* see the formula above */
    uint16_t batches, width, out_w, channels; /* at least 4 channels */
    uint16_t words;                           /* of a line: 3 * (blocks - 1) + 2 + 3 * rounds */
    uint16_t pixels;                          /* pixels of a line with padding: out_w - 1 + taps */
    uint8_t rounds, pad;                      /* pad: number of pixels of padding before the row */
    int8_t zero_point;                        /* of the input, the value of padding */
} ar_depthwise_one_row_params;

void ar_depthwise_one_row_s8_dsp(const ar_depthwise_one_row_params *p);

#endif
