/* Fixed-point arithmetic shared by the integer kernels.
 *
 * A real multiplier is held as quantized_multiplier * 2^(shift - 31) with quantized_multiplier in [2^30, 2^31) (or 0).
 * LiteRT's reference kernels scale an accumulator in one of two ways, which depends on the operator: `ar_requant`
 * rounds twice (convolutions and most elementwise operators), `ar_requant_once` rounds once (fully connected).
 */
#ifndef ARENITE_FIXED_POINT_H
#define ARENITE_FIXED_POINT_H

#include <stdint.h>

/* Returns (a * b) / 2^31 rounded to nearest, ties upwards. If a and b are -2^31, the result saturates.
 *
 * TFLite adds a nudge of 2^30 or 1 - 2^30, by the sign of the product, and divides towards zero. That is the same
 * number as the floor of (a * b + 2^30) / 2^31 for both signs, which a shift gives. */
static inline int32_t ar_high_mul(int32_t a, int32_t b)
{
    if (a == INT32_MIN && b == INT32_MIN) {
        return INT32_MAX;
    }
    return (int32_t)(((int64_t)a * b + (1 << 30)) >> 31);
}

/* Returns x / 2^exponent rounded to nearest, ties away from zero, for an exponent in [0, 31]. */
static inline int32_t ar_round_shift(int32_t x, int exponent)
{
    const int32_t mask = (int32_t)((1u << exponent) - 1u);
    const int32_t remainder = x & mask;
    const int32_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);
    return (x >> exponent) + (remainder > threshold ? 1 : 0);
}

/* Returns x * multiplier * 2^(shift - 31), rounded twice: to an integer after the multiplication, ties upwards, and
 * after the right shift, ties away from zero. */
static inline int32_t ar_requant(int32_t x, int32_t multiplier, int shift)
{
    const int left = shift > 0 ? shift : 0;
    const int right = shift > 0 ? 0 : -shift;
    /* A multiplier is never negative, so the saturating case cannot happen. */
    const int64_t product = (int64_t)(int32_t)((uint32_t)x << left) * multiplier;
    return ar_round_shift((int32_t)((product + (1 << 30)) >> 31), right);
}

/* Returns x * multiplier * 2^(shift - 31), rounded once, ties upwards. */
static inline int32_t ar_requant_once(int32_t x, int32_t multiplier, int shift)
{
    const int total = 31 - shift;
    const int64_t product = (int64_t)x * multiplier;
    return (int32_t)((product + ((int64_t)1 << (total - 1))) >> total);
}

/* Returns x * multiplier * 2^(shift - 15) for a 16-bit multiplier, rounded once, ties upwards. */
static inline int32_t ar_requant_wide(int64_t x, int32_t multiplier, int shift)
{
    const int total = 15 - shift;
    return (int32_t)((x * multiplier + ((int64_t)1 << (total - 1))) >> total);
}

static inline int32_t ar_clamp(int32_t x, int32_t low, int32_t high)
{
    return x < low ? low : x > high ? high : x;
}

#endif
