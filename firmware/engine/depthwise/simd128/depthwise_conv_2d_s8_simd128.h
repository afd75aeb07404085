/* DEPTHWISE_CONV_2D for WebAssembly's 128-bit SIMD: each output channel reads the input channel with the same number.
 * Tensors are NHWC.
 *
 * Input rows are widened to int16 with their padding (the lines). The taps of a filter are numbered row by row.
 * Weights are int8 [groups][pairs][8][2]: a group has eight neighboring channels, a pair the taps 2 * i and 2 * i + 1.
 * Weights of 0 fill up the last group, and the last pair if the number of taps is odd.
 */
#ifndef ARENITE_DEPTHWISE_CONV_2D_S8_SIMD128_H
#define ARENITE_DEPTHWISE_CONV_2D_S8_SIMD128_H

#include <stdint.h>

#include "wide_requant.h"

enum { AR_DEPTHWISE_SIMD128_TAPS = 64 }; /* the largest number of taps; the largest height, too */

typedef struct {
    const int8_t *input; /* [batches][in_h][in_w][channels] */
    int8_t *output;      /* [batches][out_h][out_w][channels] */
    int16_t *lines;      /* scratch: [(k_h - 1) * dilation_h + 1][line] */
    const int8_t *weights;
    ar_wide requant;
    uint32_t line; /* elements of a line: those under a row of windows, and 8 more, which loads may read */
    uint16_t batches, in_h, in_w, channels;
    uint16_t out_h, out_w;
    uint16_t pad_top, pad_left;
    uint8_t k_h, k_w;
    uint8_t stride_h, stride_w, dilation_h, dilation_w;
    int8_t padding; /* the input's zero point */
} ar_depthwise_simd128_params;

/* The output may begin at the same address as the input if its rows are not longer. */
void ar_depthwise_conv_2d_s8_simd128(const ar_depthwise_simd128_params *p);

/* Computes one output row. `params` is an ar_depthwise_simd128_params. `rows` has the addresses of k_h input rows, 0
 * for a row outside the image. */
void ar_depthwise_conv_2d_s8_simd128_row(const void *params, const int8_t *const *rows, int8_t *out);

#endif
