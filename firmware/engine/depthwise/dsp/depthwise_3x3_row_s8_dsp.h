/* DEPTHWISE_CONV_2D, int8, 3x3, stride 1, one output row, on cores with the DSP extension.
 *
 * A single row shares no widened input with other rows, so its layout can be chosen freely: SMLAD multiplies two pixels
 * of one column, of input rows 0 and 1, or two neighbors of row 2. This takes five multiplications for nine products.
 * It needs no rows of padding in memory: a row outside the image gets weights of 0, and its part is added to the bias.
 *
 * A block has 8 columns of 4 channels, which give 6 outputs; its last two columns are the first of the next block.
 * For each channel: [8 columns] of (row 0, row 1), then [4 pairs of columns] of row 2, int16, low halfword first.
 *
 * The results are exact as in depthwise_3x3_s8_dsp.h. The parameters are the same.
 */
#ifndef ARENITE_DEPTHWISE_3X3_ROW_S8_DSP_H
#define ARENITE_DEPTHWISE_3X3_ROW_S8_DSP_H

#include "depthwise_3x3_s8_dsp.h"

/* One channel's constants. Weights are multiplied by 256, low halfword first. */
typedef struct {
    int32_t bias;
    int32_t column[3]; /* rows 0 and 1 of a column */
    int32_t pair[2];   /* (w0, w1) and (w1, w2) of row 2 */
    int32_t multiplier;
} ar_dw_columns;

/* Computes the constants of four channels. `weights` points to the first channel: [9 taps], `channels` bytes apart. */
void ar_depthwise_columns_s8_dsp(ar_dw_columns *table, const int8_t *weights, int32_t channels,
                                 const int32_t *bias, const int32_t *multiplier);

/* The parameters of one output row of four channels, in the order in which the assembly loads them. */
typedef struct {
    int32_t rounding;
    int32_t pixel;            /* bytes from one pixel to the next: the channels */
    int32_t third;            /* 3 * pixel - 1 */
    const ar_dw_columns *end; /* end of the constants */
    int8_t *out;
    uint32_t reserved;    /* used by the assembly */
    const int8_t *row[3]; /* the ends of the input rows */
    int32_t width;        /* minus the bytes of an input row */
    uintptr_t pairs;      /* added to half the address of a column, gives the address of its pair of row 2 */
    int32_t padding;      /* four zero points */
    int32_t *block;
    int32_t *block_end;         /* end of the first channel's columns */
    const ar_dw_columns *first; /* first channel that has outputs */
    const int32_t *first_block; /* block of that channel */
    int32_t full;               /* blocks of 6 outputs */
    int32_t part;               /* outputs of an incomplete last block, or 0 */
    int32_t part_offset;        /* (part - 1) * pixel */
    int32_t
        next_block; /* bytes from the end of the group in a block's first output to the next block's first output */
} ar_dw_strip;

/* Computes the row; pad_left is 0 or 1. Never reads outside the input rows. */
void ar_depthwise_strip_s8_dsp(const ar_dw_strip *strip, int32_t pad_left);

/* Computes one output row like ar_depthwise_3x3_s8_dsp_row, but faster and only for stride 1. `params` is an
 * ar_depthwise_3x3_dsp_params; rows[1] is never 0. */
void ar_depthwise_3x3_s1_s8_dsp_row(const void *params, const int8_t *const *rows, int8_t *out);

#endif
