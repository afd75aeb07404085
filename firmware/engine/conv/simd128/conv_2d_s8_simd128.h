/* CONV_2D for WebAssembly's 128-bit SIMD, and DEPTHWISE_CONV_2D with one input channel, which computes the same. Tensors
 * are NHWC, and each filter reads all input channels. */
#ifndef ARENITE_CONV_2D_S8_SIMD128_H
#define ARENITE_CONV_2D_S8_SIMD128_H

#include <stdint.h>

#include "gemm_s8_simd128.h"

/* The largest number of rows of a filter, and the elements after the last pixel of a line, which copies may overwrite. */
enum { AR_CONV_2D_SIMD128_ROWS = 16, AR_CONV_2D_SIMD128_SLACK = 16 };

typedef struct {
    const int8_t *input; /* [batches][in_h][in_w][in_c] */
    int8_t *output;      /* [batches][out_h][out_w][out_c] */
    /* Scratch for copies of input rows with their padding: [(k_h - 1) * dilation_h + 1][line]; for filters of one tap at
     * stride 1 a copy of four pixels. Each segment of a window is the part of a row, or a single tap if the filter is
     * dilated horizontally. */
    int16_t *lines;
    ar_gemm_s8_simd128_params gemm;
    uint32_t line; /* elements of a line */
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
