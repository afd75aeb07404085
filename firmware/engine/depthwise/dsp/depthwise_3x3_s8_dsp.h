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

/* A group, and how to convert its input lines. */
typedef struct {
    ar_dw_row row;
    /* In an ar_dw_image: (the end of the entries for a row) + (the address of the newest line in memory). */
    uintptr_t end;
    const int8_t *in; /* in an ar_dw_image: the next input line */
    ar_dw_line line;
} ar_dw_group;

/* The state while a group of an image is computed, in the order in which the assembly loads it. The image as the kernel
 * sees it: its lines are the rows of the image, or its columns. When a new line replaces the one before, the address of
 * a row's entries decreases by the number of bytes by which the newest line's address increases, so their sum never
 * changes. */
typedef struct {
    ar_dw_group
        group;        /* `row.out` is that of the next output row; `row.channels` and `row.end` are not set */
    int32_t *to;      /* where to store the next input line */
    int32_t next;     /* its number; negative if it is padding */
    int32_t in_lines; /* number of lines in the image */
    int32_t in_line;  /* bytes from one input line to the next */
    int32_t *last;    /* the address of the last of the three lines in memory */
    uintptr_t first;  /* (the first channel's entry for a row) + (the address of the newest line in memory) */
    int32_t missing;  /* number of input lines to convert before the next output row */
    int32_t out_line; /* bytes from one output row to the next */
    int32_t out_lines; /* number of output rows left */
} ar_dw_image;

/* For stride 1: computes a group's channels of one image, from the first output row to the last. Output line y may
 * overwrite input line y. */
void ar_depthwise_3x3_s1_s8_dsp(void *image);
/* For stride 2: computes one output row. */
void ar_depthwise_3x3_s2_s8_dsp(void *row);

/* Does the same as ar_depthwise_3x3_s1_s8_dsp, with a function that computes one output row. */
static inline void ar_dw_image_rows(ar_dw_image *image, int32_t stride, void (*kernel)(void *row))
{
    ar_dw_group *const g = &image->group;
    for (; image->out_lines != 0; image->out_lines--) {
        const int32_t *newest;
        do {
            const int32_t inside = (uint32_t)image->next < (uint32_t)image->in_lines;
            ar_depthwise_line_s8_dsp(&g->line, inside ? g->in : 0, image->to);
            g->in += inside ? image->in_line : 0;
            image->next++;
            newest = image->to;
            image->to = newest == image->last ? image->last - 8 : image->to + 4;
        } while (--image->missing);
        image->missing = stride;
        g->row.channels = (const void *)(image->first - (uintptr_t)newest);
        g->row.end = (const void *)(g->end - (uintptr_t)newest);
        kernel(&g->row);
        g->row.out += image->out_line;
    }
}

typedef struct {
    const int8_t *input; /* [batches][in_h][in_w][channels] */
    int8_t *output; /* [batches][out_h][out_w][channels]; may be the input at stride 1 and equal shapes */
    const int8_t *weights;     /* [3][3][channels]; there are at least 4 channels */
    const int32_t *bias;       /* [channels]: 256 * (bias including the zero point) + offset */
    const int32_t *multiplier; /* [channels] */
    void (*kernel)(
        void *);      /* ar_depthwise_3x3_s1_s8_dsp or ar_depthwise_3x3_s2_s8_dsp, depending on the stride */
    void *scratch;    /* AR_DW_TABLE_BYTES bytes, then the lines and one more block */
    int32_t rounding; /* see the formula above */
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

/* Computes one output row at stride 2, with lines for one strip. `params` is an ar_depthwise_3x3_dsp_params; rows[k] is the input
 * row of kernel row k, or 0 if that row is outside the image. */
void ar_depthwise_3x3_s8_dsp_row(const void *params, const int8_t *const *rows, int8_t *out);

#endif
