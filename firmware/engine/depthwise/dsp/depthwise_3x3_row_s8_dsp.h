/* DEPTHWISE_CONV_2D, int8, 3x3, stride 1, one output row, on cores with the DSP extension.
 *
 * When a single row is computed, no other row uses its widened inputs, so their layout can be chosen freely: SMLAD
 * multiplies either two pixels of one column, from input rows 0 and 1, or two neighboring pixels of input row 2. This
 * takes five multiplications for nine products. Rows of padding need no memory: the weights of a row outside the image
 * are set to 0, and the products of its weights and the padding are added to the bias.
 *
 * A block has 8 columns of 4 channels, from which 6 outputs are computed. Its last two columns are also the first two
 * columns of the next block. For each channel, a block has 12 words: for each of the 8 columns the pixels of rows 0
 * and 1, then for each of the 4 pairs of columns the two pixels of row 2. A word has two int16, the first one in the
 * low halfword.
 *
 * The parameters are those of depthwise_3x3_s8_dsp.h, which also explains why the results are exact.
 */
#ifndef ARENITE_DEPTHWISE_3X3_ROW_S8_DSP_H
#define ARENITE_DEPTHWISE_3X3_ROW_S8_DSP_H

#include "depthwise_3x3_s8_dsp.h"

/* One channel's constants. A word has two weights, multiplied by 256, the first one in the low halfword. */
typedef struct {
    int32_t bias;
    int32_t column[3]; /* for each column the weights of rows 0 and 1 */
    int32_t pair[2];   /* the weights (w0, w1) and (w1, w2) of row 2 */
    int32_t multiplier;
} ar_dw_columns;

/* Writes the constants of four channels to `table`. `weights` points to the first channel's weight of the first of
 * 9 taps; the taps are `channels` bytes apart. */
void ar_depthwise_columns_s8_dsp(ar_dw_columns *table, const int8_t *weights, int32_t channels,
                                 const int32_t *bias, const int32_t *multiplier);

/* The parameters of one output row of four channels, in the order in which the assembly loads them. */
typedef struct {
    int32_t rounding;         /* see the formula in depthwise_3x3_s8_dsp.h */
    int32_t pixel;            /* bytes from one pixel to the next: the number of channels */
    int32_t third;            /* 3 * pixel - 1: from the byte after output 0 to output 3 */
    const ar_dw_columns *end; /* the end of the table of constants */
    int8_t *out;
    uint32_t reserved;    /* used by the assembly */
    const int8_t *row[3]; /* the ends of the input rows */
    int32_t width;        /* minus the bytes of an input row */
    uintptr_t pairs;      /* the address of a pair of row 2 is (address of its first column) / 2 + `pairs` */
    int32_t padding;      /* the input's zero point in each byte */
    int32_t *block;
    int32_t *block_end;         /* the end of the first channel's columns in the block */
    const ar_dw_columns *first; /* constants of the first channel whose outputs are written */
    const int32_t *first_block; /* that channel's words in the block */
    int32_t full;               /* number of blocks with 6 outputs */
    int32_t part;               /* number of outputs in an incomplete last block; 0 if all blocks are full */
    int32_t part_offset;        /* (part - 1) * pixel */
    /* Bytes from the end of the four channels in a block's first output pixel to these channels in the next block's
     * first output pixel. */
    int32_t next_block;
} ar_dw_strip;

/* Computes the outputs of the four channels in one row. pad_left is 0 or 1. Never reads outside the input rows. */
void ar_depthwise_strip_s8_dsp(const ar_dw_strip *strip, int32_t pad_left);

/* Computes one output row like ar_depthwise_3x3_s8_dsp_row, but faster and only for stride 1. `params` is an
 * ar_depthwise_3x3_dsp_params; rows[1] is never 0. `out` may be one of the rows: all columns that a block reads are in
 * memory of their own before its outputs are written, and later blocks read no column to the left of them. */
void ar_depthwise_3x3_s1_s8_dsp_row(const void *params, const int8_t *const *rows, int8_t *out);

#endif
