/* Reciprocal square root of an integer, as LiteRT's GetInvSqrtQuantizedMultiplierExp defines it. */
#ifndef ARENITE_INV_SQRT_H
#define ARENITE_INV_SQRT_H

#include <stdint.h>

/* Returns the multiplier m and stores *right_shift, so that m * 2^(-31 - *right_shift) is 1 / sqrt(x). For x <= 1 that
 * product is about 1. */
int32_t ar_inv_sqrt(int32_t x, int *right_shift);

#endif
