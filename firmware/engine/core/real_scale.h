/* Multiplication by a real scale exactly as a double does it, without floating point. */
#ifndef ARENITE_REAL_SCALE_H
#define ARENITE_REAL_SCALE_H

#include <stdint.h>

/* round((double)x * scale), C's `round`, with scale = mantissa * 2^exponent, mantissa in [2^52, 2^53).
 * |x| < 2^53. Results outside int32 saturate. */
int32_t ar_scale_real(int64_t x, uint64_t mantissa, int exponent);

#endif
