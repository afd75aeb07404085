/* DEPTHWISE_CONV_2D, int8, 3x3, depth multiplier 1, strides 1 and 2, on cores with the DSP extension, with little code and
 * few bytes per channel: for builds for small flash.
 *
 * The kernel computes four channels and two rows of outputs at a time. Each channel has its own copy of the input rows,
 * widened to int16 and stored column by column: the values of the rows under both windows, which are 4 at stride 1 and 5
 * at stride 2, where a sixth one makes them a number of words. For the next two rows of outputs, the beginning of the
 * columns moves by one word at stride 1, and by two at stride 2: the last words of each column, which were the first ones
 * of the next column, are replaced by the new rows. */
#ifndef ARENITE_DEPTHWISE_3X3_S8_COMPACT_DSP_H
#define ARENITE_DEPTHWISE_3X3_S8_COMPACT_DSP_H

#include <stdint.h>

#include "compact_scale.h"

enum { AR_DEPTHWISE_3X3_COMPACT_GROUP = 4 }; /* channels that are computed together */

typedef struct {
    const int8_t *input;   /* [in_h][in_w][channels] */
    int8_t *output;        /* [out_h][out_w][channels]; may be the input at stride 1 and equal shapes */
    const int8_t *weights; /* [channels][3 columns][3 rows] */
    const uint32_t *bias;  /* [channels], words of compact_scale.h, then the table */
    /* The columns of each channel of a group: [AR_DEPTHWISE_3X3_COMPACT_GROUP][columns * (stride + 1) + the words by which
     * they move], where the columns are those that the windows of a row cover, with padding. */
    int32_t *scratch;
    ar_compact_format format;
    uint16_t in_h, in_w, channels, out_h, out_w;
    uint8_t stride;
    uint8_t pad_top, pad_left;
    int8_t zero_point; /* of the input */
} ar_depthwise_3x3_compact_params;

void ar_depthwise_3x3_s8_compact_dsp(const ar_depthwise_3x3_compact_params *p);

/* Two rows of outputs of a channel, in the order in which the assembly reads it. */
typedef struct {
    ar_compact_scale scale;
    int32_t next_row; /* bytes from the first row of outputs to the second; 0: there is only one row */
    int32_t channels;
    const int32_t *end; /* the first window that is not computed */
    const int32_t *x;   /* the first window */
    int8_t *out;
    /* Twice the weights w of each column: w[0] and w[1], then w[1] and w[2], the first one in the low halfword. */
    uint32_t weights[3][2];
    int32_t bias; /* twice the bias */
} ar_depthwise_3x3_compact_rows;

/* Computes the outputs of both rows. */
void ar_depthwise_3x3_compact_rows_s8_dsp(const ar_depthwise_3x3_compact_rows *rows, int32_t stride);

#endif
