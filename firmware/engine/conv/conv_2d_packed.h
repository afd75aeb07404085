/* CONV_2D and DEPTHWISE_CONV_2D, int8, with packed weights (see packed.h). The kernels unpack the weights of one output
 * channel at a time. */
#ifndef ARENITE_CONV_2D_PACKED_H
#define ARENITE_CONV_2D_PACKED_H

#include "conv_2d.h"
#include "packed.h"

/* The unpacked weights are [out_c][k_h][k_w][k_c]. A depthwise convolution is a convolution with in_c groups, so its
 * k_c is 1. */
typedef struct {
    ar_conv_2d_params conv; /* its field `weights` is not used */
    ar_packed packed;
    int8_t *filter; /* scratch for the weights of one output channel: [k_h][k_w][k_c] */
} ar_conv_2d_packed_params;

void ar_conv_2d_s8_packed(const ar_conv_2d_packed_params *p);

/* Computes one output row. `params` is an ar_conv_2d_packed_params; ar_row_fn in stream.h describes the other
 * arguments. */
void ar_conv_2d_s8_packed_row(const void *params, const int8_t *const *rows, int8_t *out);

#endif
