/* Convolve blocks of 3 neighboring pixels with short filters, on cores with the DSP extension.
 *
 * The weights are stored as int16, multiplied by 256, so a sum is 256 * acc plus the offset of the requantization, which
 * is part of the bias. Compared with two channels in each int16 (dot_s8_dsp.h), this takes twice the flash for weights,
 * but a word of weights needs no SXTB16, and a sum is ready for its requantization. If filters have few values, most of
 * the time goes into the latter. The results are exact: the generator has proven that the sum fits 32 bits, and that
 * this is LiteRT's output:
 *
 *     out = saturate((sum * multiplier + rounding * 2^32) >> (32 + AR_SHORT_SHIFT))
 *
 * Inputs. A row of a window is read in groups of four bytes, which SXTB16 widens in the order 0, 2, 1, 3. If `rest` is
 * 1, the row's last byte follows as a word of its own. Weights of zero fill up the last group of a row, and the upper
 * half of a rest. The bytes that are multiplied with these zeros may have any value.
 *
 * Filters. A pair is the filters of two output channels. It has two words of weights for every two inputs (one of each
 * channel), and the two multipliers. The two biases are after the first two words, so that one LDM loads them with the
 * weights. */
#ifndef ARENITE_SHORT_BLOCKS_S8_DSP_H
#define ARENITE_SHORT_BLOCKS_S8_DSP_H

#include <stdint.h>

#define AR_SHORT_SHIFT 12
#define AR_SHORT_WORDS 32 /* the largest number of words of a window: two inputs each */

/* The parameters, in the order in which the assembly loads them. */
typedef struct {
    const int32_t *end; /* of the filters */
    int32_t rounding;   /* see the formula above */
    int32_t pixel;      /* bytes from one output pixel to the next: the number of output channels */
    int32_t *x;         /* scratch for the widened inputs of a block, int16 [words][3 pixels][2] */
    const int32_t *filters;
    int8_t *out;               /* the first output of the first pixel */
    int32_t step;              /* bytes from a window to that of the next pixel */
    const int8_t *const *rows; /* the input rows of the windows */
    int32_t offset;            /* bytes from the beginning of the rows to the first window */
    int32_t groups;            /* groups of four bytes in a row of a window, at least 1 */
    int32_t count;             /* number of rows */
    int32_t rest;              /* 1 if a row of a window has one more byte after its groups, otherwise 0 */
    int32_t blocks;            /* number of blocks, at least 1 */
    int32_t words;             /* count * (2 * groups + rest), at most AR_SHORT_WORDS */
} ar_short_blocks_s8;

void ar_short_blocks_s8_dsp(const ar_short_blocks_s8 *b);

#endif
