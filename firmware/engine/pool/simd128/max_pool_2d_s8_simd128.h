/* MAX_POOL_2D for WebAssembly's 128-bit SIMD, int8, NHWC. Each lane computes one channel. */
#ifndef ARENITE_MAX_POOL_2D_S8_SIMD128_H
#define ARENITE_MAX_POOL_2D_S8_SIMD128_H

#include "pool_2d.h"

enum { AR_MAX_POOL_SIMD128_ROWS = 32 }; /* the largest k_h */

void ar_max_pool_2d_s8_simd128(const ar_pool_2d_params *p);

/* Computes one output row, see ar_row_fn in stream.h. */
void ar_max_pool_2d_s8_simd128_row(const void *params, const int8_t *const *rows, int8_t *out);

#endif
