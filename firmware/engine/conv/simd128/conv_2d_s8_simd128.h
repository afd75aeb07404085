/* CONV_2D for WebAssembly's 128-bit SIMD, and DEPTHWISE_CONV_2D with one input channel, which computes the same. Tensors
 * are NHWC, and each filter reads all input channels. */
#ifndef ARENITE_CONV_2D_S8_SIMD128_H
#define ARENITE_CONV_2D_S8_SIMD128_H

#include <stdint.h>

#include "gemm_s8_simd128.h"

enum { AR_CONV_2D_SIMD128_ROWS = 16 }; /* the largest number of rows of a filter */

typedef struct {
    const int8_t *input; /* [batches][in_h][in_w][in_c] */
    int8_t *output;      /* [batches][out_h][out_w][out_c] */
    /* Scratch for the widened windows of four output pixels: [4][2 * pairs], and AR_WIDEN_SLACK more elements. A window
     * is [k_h][k_w][in_c]. */
    int16_t *patches;
    ar_gemm_s8_simd128_params gemm;
    uint16_t batches, in_h, in_w, in_c;
    uint16_t out_h, out_w;
    uint16_t k_h, k_w; /* k_h up to AR_CONV_2D_SIMD128_ROWS */
    uint16_t pad_top, pad_left;
    uint8_t stride_h, stride_w, dilation_h, dilation_w;
    int8_t padding; /* the input's zero point */
} ar_conv_2d_simd128_params;

void ar_conv_2d_s8_simd128(const ar_conv_2d_simd128_params *p);

/* Computes one output row. `params` is an ar_conv_2d_simd128_params. `rows` has the addresses of k_h input rows, 0 for
 * a row outside the image. */
void ar_conv_2d_s8_simd128_row(const void *params, const int8_t *const *rows, int8_t *out);

#endif
