/* DEPTHWISE_CONV_2D, int8, 3x3, stride 1, one output row, on cores with the DSP extension.
 *
 * A row that is computed alone shares no widened input with others, so its layout is free: SMLAD multiplies two pixels
 * of one column, of the input rows 0 and 1, or two neighbours of row 2. That is five multiplications for nine products,
 * and needs no padding in memory: a row outside the image has weights of 0, and its share is in the bias.
 *
 * A block holds 8 columns of 4 channels, which give 6 outputs; its last two columns are the first of the next block.
 * For each channel: [8 columns] of (row 0, row 1), then [4 pairs of columns] of row 2, int16, low halfword first.
 *
 * Exact: as in depthwise_3x3_s8_dsp.h, whose parameters it takes.
 */
#ifndef ARENITE_DEPTHWISE_3X3_ROW_S8_DSP_H
#define ARENITE_DEPTHWISE_3X3_ROW_S8_DSP_H

#include "depthwise_3x3_s8_dsp.h"

/* One channel's constants; weights 256-fold, low halfword first. */
typedef struct {
    int32_t bias;
    int32_t column[3]; /* rows 0 and 1 of a column */
    int32_t pair[2];   /* (w0, w1) and (w1, w2) of row 2 */
    int32_t multiplier;
} ar_dw_columns;

/* Makes the constants of four channels: weights of the first one, [9 taps] with `channels` bytes from one to the next. */
void ar_depthwise_columns_s8_dsp(ar_dw_columns *table, const int8_t *weights, int32_t channels,
                                 const int32_t *bias, const int32_t *multiplier);

/* One output row of four channels, in the order in which the assembly loads it. */
typedef struct {
    int32_t rounding;
    int32_t pixel;            /* bytes from one pixel to the next: the channels */
    int32_t third;            /* 3 * pixel - 1 */
    const ar_dw_columns *end; /* of the constants */
    int8_t *out;
    uint32_t reserved;    /* the assembly's own */
    const int8_t *row[3]; /* behind the input rows' last pixels */
    int32_t width;        /* minus the bytes of an input row */
    uintptr_t pairs;      /* such that half a column's address more is that of a pair of row 2 */
    int32_t padding;      /* four zero points */
    int32_t *block;
    int32_t *block_end;         /* of the first channel's columns */
    const ar_dw_columns *first; /* channel that has outputs */
    const int32_t *first_block; /* of that channel */
    int32_t full;               /* blocks of 6 outputs */
    int32_t part;               /* outputs of a last block, or 0 */
    int32_t part_offset;        /* (part - 1) * pixel */
    int32_t next_block; /* from behind the group in a block's first output pixel to the next block's first */
} ar_dw_strip;

/* pad_left: 0 or 1. Never reads outside the input rows. */
void ar_depthwise_strip_s8_dsp(const ar_dw_strip *strip, int32_t pad_left);

/* One row of the output as ar_depthwise_3x3_s8_dsp_row computes it, for stride 1 only, and faster. `params` is an
 * ar_depthwise_3x3_dsp_params; rows[1] is never 0. */
void ar_depthwise_3x3_s1_s8_dsp_row(const void *params, const int8_t *const *rows, int8_t *out);

#endif
