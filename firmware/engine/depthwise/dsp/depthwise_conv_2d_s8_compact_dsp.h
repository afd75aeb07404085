/* DEPTHWISE_CONV_2D, int8, depth multiplier 1, on cores with the DSP extension, with little code and few bytes per
 * channel: for builds for small flash.
 *
 * The kernel computes four channels at a time. Each channel has its own copy of the input rows, widened to int16 and
 * stored column by column: the values of the k_h rows under a window, for each column of the padded row. So a window is
 * contiguous in memory. For the next row, the beginning of the columns moves by one value: each column then begins with
 * its second row, and the last value of each column, which was the first one of the next column, is replaced by the new
 * row. */
#ifndef ARENITE_DEPTHWISE_CONV_2D_S8_COMPACT_DSP_H
#define ARENITE_DEPTHWISE_CONV_2D_S8_COMPACT_DSP_H

#include <stdint.h>

#include "compact_scale.h"

enum { AR_DEPTHWISE_COMPACT_GROUP = 4 }; /* channels that are computed together */

typedef struct {
    const int8_t *input; /* [batches][in_h][in_w][channels] */
    int8_t *output; /* [batches][out_h][out_w][channels]; may be the input at stride 1 and equal shapes */
    const int8_t *weights; /* [channels][k_w][k_h] */
    const uint32_t *bias;  /* [channels], words of compact_scale.h, then the table */
    /* Scratch: the columns, then the weights of a channel, int16 [2 * pairs]; both for each channel of a group. */
    int16_t *scratch;
    ar_compact_format format;
    uint16_t batches, in_h, in_w, channels, out_h, out_w;
    uint16_t columns; /* number of columns that the windows of a row cover, with padding */
    uint16_t pairs;   /* number of pairs of taps: k_h * k_w / 2, rounded up */
    uint16_t
        size; /* int16 values of a channel's scratch: columns * k_h + rows that the windows cover + 2 * pairs */
    uint8_t k_h, k_w, stride_h, stride_w; /* no dilation */
    uint8_t pad_top, pad_left;
    int8_t zero_point; /* of the input */
} ar_depthwise_compact_params;

void ar_depthwise_conv_2d_s8_compact_dsp(const ar_depthwise_compact_params *p);

/* A row of outputs of a channel, in the order in which the assembly reads it. */
typedef struct {
    const int16_t *x; /* the first window */
    int8_t *out;
    int32_t count; /* outputs, at least 1 */
    int32_t step;  /* bytes from one window to the next */
    int32_t bias;  /* twice the bias */
    ar_compact_scale scale;
    int32_t channels;
    const int16_t *weights; /* twice the weights of 2 * pairs taps */
    int32_t pairs;
} ar_depthwise_compact_row;

/* Computes the outputs of a row. */
void ar_depthwise_compact_row_s8_dsp(const ar_depthwise_compact_row *row);

#endif
