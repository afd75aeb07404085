/* CONV_2D and DEPTHWISE_CONV_2D, int8, with packed weights. Unpacks the weights of one output channel at a time. */
#ifndef ARENITE_CONV_2D_PACKED_H
#define ARENITE_CONV_2D_PACKED_H

#include "conv_2d.h"
#include "packed.h"

/* Weights are [out_c][k_h][k_w][k_c]. A depthwise convolution is a convolution with in_c groups, so its k_c is 1. */
typedef struct {
    ar_conv_2d_params conv; /* without weights */
    ar_packed packed;
    int8_t *filter; /* scratch: [k_h][k_w][k_c] */
} ar_conv_2d_packed_params;

void ar_conv_2d_s8_packed(const ar_conv_2d_packed_params *p);

/* Computes one output row, see ar_row_fn in stream.h. */
void ar_conv_2d_s8_packed_row(const void *params, const int8_t *const *rows, int8_t *out);

#endif
