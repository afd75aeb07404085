/* AVERAGE_POOL_2D for WebAssembly's 128-bit SIMD, int8, NHWC. Each lane computes one channel. */
#ifndef ARENITE_AVERAGE_POOL_2D_S8_SIMD128_H
#define ARENITE_AVERAGE_POOL_2D_S8_SIMD128_H

#include "pool_2d.h"

/* Windows have at most 255 pixels. */
void ar_average_pool_2d_s8_simd128(const ar_pool_2d_params *p);

#endif
