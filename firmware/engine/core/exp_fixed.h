/* The exponential function and the reciprocal in fixed point, as gemmlowp defines them. A number in Qm.n has m integer
 * bits and n fraction bits. */
#ifndef ARENITE_EXP_FIXED_H
#define ARENITE_EXP_FIXED_H

#include <stdint.h>

/* Returns exp(x) in Q0.31, for x <= 0 in Q5.26. */
int32_t ar_exp_negative(int32_t x);

/* Returns 1 / (1 + x) in Q0.31, for x in [0, 1), also in Q0.31. */
int32_t ar_one_over_one_plus(int32_t x);

/* Returns x * 2^exponent, saturated to int32. */
int32_t ar_shift_saturating(int32_t x, int exponent);

#endif
