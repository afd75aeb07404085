/* CONV_2D for Helium, and DEPTHWISE_CONV_2D with one input channel, which computes the same. Tensors are NHWC, and each
 * filter reads all input channels. */
#ifndef ARENITE_CONV_2D_S8_MVE_H
#define ARENITE_CONV_2D_S8_MVE_H

#include <stdint.h>

#include "gemm_s8_mve.h"

enum { AR_CONV_2D_MVE_ROWS = 16 }; /* the largest number of rows of a filter */

typedef struct {
    const int8_t *input; /* [batches][in_h][in_w][in_c] */
    int8_t *output;      /* [batches][out_h][out_w][out_c] */
    /* Scratch for copies of the windows of successive output pixels: [patch_pixels][k_h][k_w][in_c]. It is 0 for 1 x 1
     * filters. The kernel for strips has a strip here. */
    int8_t *patches;
    ar_gemm_s8_mve_params gemm; /* depth = k_h * k_w * in_c, with the inputs in this order */
    uint16_t batches, in_h, in_w, in_c;
    uint16_t out_h, out_w;
    uint16_t k_h, k_w; /* k_h up to AR_CONV_2D_MVE_ROWS */
    uint16_t pad_top, pad_left;
    uint16_t patch_pixels;                  /* number of windows for which `patches` has room */
    uint8_t stride_h, stride_w, dilation_h; /* no horizontal dilation */
    int8_t padding;                         /* the input's zero point */
    int8_t act_min, act_max;                /* outputs are clamped to this range */
} ar_conv_2d_mve_params;

void ar_conv_2d_s8_mve(const ar_conv_2d_mve_params *p);

/* Computes the same with strips. A strip has all inputs of a column of outputs: [rows][k_w][in_c], with the rows of
 * padding. The windows of neighboring outputs of the column overlap in it, so each input row is copied once and not once
 * per window. `patches` has room for (out_h - 1) * stride_h + k_h rows, k_h has no limit, dilation_h is 1, and
 * gemm.out_step is out_w * out_c. */
void ar_conv_2d_strips_s8_mve(const ar_conv_2d_mve_params *p);

/* Computes one output row. `params` is an ar_conv_2d_mve_params. `rows` has the addresses of k_h input rows, 0 for a
 * row outside the image. */
void ar_conv_2d_s8_mve_row(const void *params, const int8_t *const *rows, int8_t *out);

#endif
