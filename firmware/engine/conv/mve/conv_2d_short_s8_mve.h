/* CONV_2D with short filters for Helium, and DEPTHWISE_CONV_2D with one input channel: see gemm4_s8_mve.h. */
#ifndef ARENITE_CONV_2D_SHORT_S8_MVE_H
#define ARENITE_CONV_2D_SHORT_S8_MVE_H

#include "conv_2d_s8_mve.h"
#include "gemm4_s8_mve.h"

typedef struct {
    ar_conv_2d_mve_params conv; /* of conv.gemm only out_c is used */
    ar_gemm4_params gemm4;
} ar_conv_2d_short_mve_params;

/* Compute 1 x 1 convolutions at stride 1 with 8, 16 and 32 input channels, and at least 4 pixels. */
void ar_conv_2d_depth8_s8_mve(const ar_conv_2d_short_mve_params *p);
void ar_conv_2d_depth16_s8_mve(const ar_conv_2d_short_mve_params *p);
void ar_conv_2d_depth32_s8_mve(const ar_conv_2d_short_mve_params *p);

/* Compute convolutions with strips, see conv_2d_s8_mve.h. Filters have at most 16, 32 or 48 values. out_h is at
 * least 4. `patches` has 32 bytes after the strip, because the kernels read complete vectors. */
void ar_conv_2d_short16_s8_mve(const ar_conv_2d_short_mve_params *p);
void ar_conv_2d_short32_s8_mve(const ar_conv_2d_short_mve_params *p);
void ar_conv_2d_short48_s8_mve(const ar_conv_2d_short_mve_params *p);

#endif
