/* CONV_2D with filters of 1 x 1 and 64 or 128 input channels at stride 1 for Helium: see gemm_wide_s8_mve.h. */
#ifndef ARENITE_CONV_2D_WIDE_S8_MVE_H
#define ARENITE_CONV_2D_WIDE_S8_MVE_H

#include "gemm_wide_s8_mve.h"

typedef struct {
    ar_gemm_wide_params gemm;
    const int8_t *input;     /* [pixels][depth] */
    int8_t *output;          /* [pixels][out_c] */
    uint32_t pixels;         /* of all images, at least 2 */
    int8_t act_min, act_max; /* outputs are clamped to this range */
} ar_conv_2d_wide_params;

void ar_conv_2d_depth64_s8_mve(const ar_conv_2d_wide_params *p);
void ar_conv_2d_depth128_s8_mve(const ar_conv_2d_wide_params *p);

#endif
