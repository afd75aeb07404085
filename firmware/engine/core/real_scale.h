/* Multiplies by a real scale with the result of double precision, without floating point. */
#ifndef ARENITE_REAL_SCALE_H
#define ARENITE_REAL_SCALE_H

#include <stdint.h>

/* Returns round((double)x * scale) with C's `round`, where scale = mantissa * 2^exponent and mantissa is in [2^52,
 * 2^53). |x| must be less than 2^53. Results outside int32 saturate. */
int32_t ar_scale_real(int64_t x, uint64_t mantissa, int exponent);

#endif
