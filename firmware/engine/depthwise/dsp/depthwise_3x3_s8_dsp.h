/* DEPTHWISE_CONV_2D, int8, 3x3, stride 1 or 2, depth multiplier 1, on cores with the DSP extension.
 *
 * The kernel computes four channels (a group) of the whole image at a time. It widens every input row once to int16,
 * and stores it channel by channel as a "line", so that SMLAD multiplies two neighboring pixels of one channel. Three
 * lines are kept in memory. The newest line replaces the oldest one, and the weights are rotated instead of the lines.
 *
 * A block is four pairs of pixels, from which 6 outputs at stride 1 or 3 outputs at stride 2 are computed. The layout
 * of the lines is [blocks][4 channels][3 lines][4 pairs] of two int16. The last pair of a block is also the first pair
 * of the next block.
 *
 * The results are exact. Weights are multiplied by 256, so a sum is 256 * acc plus the requantization's offset, which
 * is part of the bias. The generator has proven that the sum fits 32 bits, and that this is LiteRT's output:
 *
 *     out = saturate((sum * multiplier + rounding * 2^32) >> (32 + 8))
 */
#ifndef ARENITE_DEPTHWISE_3X3_S8_DSP_H
#define ARENITE_DEPTHWISE_3X3_S8_DSP_H

#include <stdint.h>

#define AR_DW_GROUP 4        /* channels that are computed together */
#define AR_DW_BLOCK_WORDS 48 /* words of a block */
#define AR_DW_PIXELS 6       /* pixels of a block that are not in the previous block */

/* One channel's constants. Entry k has the weights of kernel row k % 3. An output row reads three entries, one per
 * line. The first of these entries is the one whose kernel row belongs to the first line. Every entry contains the
 * bias and the multiplier. */
typedef struct {
    struct {
        int32_t bias;
        int32_t first, last; /* weights (w0, w1) and (w1, w2), low halfword first, multiplied by 256 */
        int32_t multiplier;
    } line[6];
} ar_dw_channel;

/* Writes the constants of four channels to `table`. `weights` points to the first channel's weight of the first of
 * 9 taps; the taps are `channels` bytes apart. */
void ar_depthwise_table_s8_dsp(ar_dw_channel *table, const int8_t *weights, int32_t channels,
                               const int32_t *bias, const int32_t *multiplier);

/* The parameters of one output row of a group, in the order in which the assembly loads them. */
typedef struct {
    int32_t rounding; /* see the formula above */
    int32_t pixel;    /* bytes from one output pixel to the next: the number of channels */
    int32_t third;    /* 3 * pixel - 1: from the byte after output 0 to output 3 */
    const void *end;  /* the end of the entries that begin at `channels` */
    int8_t *out;
    uint32_t reserved; /* used by the assembly */
    /* Bytes from the end of the group's channels in a block's first output pixel to these channels in the next block's
     * first output pixel. */
    int32_t next_block;
    const int32_t *full;  /* the end of the full blocks of the lines */
    const void *channels; /* the first channel's entry for the first line, see ar_dw_channel */
    int32_t part;         /* number of outputs in an incomplete last block; 0 if all blocks are full */
    int32_t part_offset;  /* (part - 1) * pixel */
    const int32_t *lines;
    int32_t skip; /* bytes of a block that belong to channels which are already computed */
} ar_dw_row;

typedef void ar_dw_row_kernel(const ar_dw_row *row);

ar_dw_row_kernel ar_depthwise_3x3_s1_s8_dsp;
ar_dw_row_kernel ar_depthwise_3x3_s2_s8_dsp;

/* The parameters for converting the input rows of a group to lines, in the order in which the assembly loads them. */
typedef struct {
    int32_t pixel;         /* bytes from one pixel to the next */
    int32_t rest;          /* number of pixels after the last full block, 0 to 5 */
    const int8_t *padding; /* the 4 channels of a padding pixel */
    int32_t blocks;        /* number of full blocks of 6 pixels */
    int32_t second; /* bytes from the row's start to the line's second pixel; 0 if the first is padding */
} ar_dw_line;

/* Converts the input row at `row` to a line. `to` is the address of the line in the first block. If `row` is 0, the
 * line is filled with padding. */
void ar_depthwise_line_s8_dsp(const ar_dw_line *line, const int8_t *row, int32_t *to);

typedef struct {
    const int8_t *input; /* [batches][in_h][in_w][channels] */
    int8_t *output; /* [batches][out_h][out_w][channels]; may be the input at stride 1 and equal shapes */
    const int8_t *weights;     /* [3][3][channels]; there are at least 4 channels */
    const int32_t *bias;       /* [channels]: 256 * (bias including the zero point) + offset */
    const int32_t *multiplier; /* [channels] */
    ar_dw_row_kernel *kernel;  /* computes one output row; depends on the stride */
    void *scratch;             /* AR_DW_TABLE_BYTES bytes, then the lines and one more block */
    int32_t rounding;          /* see the formula above */
    uint16_t batches, in_h, in_w, channels, out_h, out_w;
    uint8_t pad_top, pad_left, stride; /* pad_left is 0 or 1 */
    int8_t zero_point;                 /* the input's zero point, which is the value of padding */
} ar_depthwise_3x3_dsp_params;

/* The size of the constants of a group and four bytes of padding. */
#define AR_DW_TABLE_BYTES (AR_DW_GROUP * 96 + 4)

void ar_depthwise_3x3_s8_dsp(const ar_depthwise_3x3_dsp_params *p);

/* The same with a line for each column of the image instead of each row, which is faster if fewer blocks are incomplete.
 * The two dimensions of the weights' taps are exchanged, and pad_top is 0 or 1. */
void ar_depthwise_3x3_columns_s8_dsp(const ar_depthwise_3x3_dsp_params *p);

/* The blocks of a strip. A single row is computed strip by strip, so that its lines need little scratch. */
#define AR_DW_STRIP_BLOCKS 2

/* Computes one output row, with lines for one strip. `params` is an ar_depthwise_3x3_dsp_params; rows[k] is the input
 * row of kernel row k, or 0 if that row is outside the image. */
void ar_depthwise_3x3_s8_dsp_row(const void *params, const int8_t *const *rows, int8_t *out);

#endif
