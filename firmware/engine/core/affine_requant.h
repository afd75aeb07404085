/* Requantizes an accumulator to an int8 output with one high multiplication.
 *
 * out = clamp((x * multiplier + rounding * 2^32) >> (32 + shift)) where x is 256 times the accumulator plus an offset.
 * Multiplier and offset belong to a channel, rounding and shift to the whole layer. The generator uses this formula
 * only if it has proven that the result is LiteRT's for every accumulator that can occur; see affine.py in
 * firmware/generator/requant.
 */
#ifndef ARENITE_AFFINE_REQUANT_H
#define ARENITE_AFFINE_REQUANT_H

#include <stdint.h>

#if defined(__XTENSA__) || defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__)
#define AR_NO_LONG_PRODUCT /* the compiler would call a library function for a 64-bit product */
#endif

/* The constants that all channels of a layer share. `two_sided` is 1 if the offset depends on the accumulator's
 * sign, see ar_affine_x. */
typedef struct {
    uint8_t shift, two_sided;
    int8_t zero_point; /* of the output; the rounding constant is (zero_point + 1/2) * 2^shift */
} ar_affine;

/* Returns the upper half of a * b; b is not negative. */
static inline int32_t ar_mul_high(int32_t a, int32_t b)
{
#if defined(AR_NO_LONG_PRODUCT)
    const uint32_t a_low = (uint32_t)a & 0xFFFFu, b_low = (uint32_t)b & 0xFFFFu;
    const int32_t a_high = a >> 16, b_high = b >> 16;
    /* This cannot overflow: |a_high * b_low| < 2^31, and the carry adds less than 2^16. The product is near the end
     * of the range only if a_high is -2^15, and then the carry moves it away from the end. */
    const int32_t middle = a_high * (int32_t)b_low + (int32_t)((a_low * b_low) >> 16);
    const uint32_t second_middle = a_low * (uint32_t)b_high + ((uint32_t)middle & 0xFFFFu);
    return a_high * b_high + (middle >> 16) + (int32_t)(second_middle >> 16);
#else
    return (int32_t)(((int64_t)a * b) >> 32);
#endif
}

/* Returns y, limited to the range of int8. */
static inline int32_t ar_saturate_s8(int32_t y)
{
#if defined(__ARM_FEATURE_SAT)
    __asm__("ssat %0, #8, %1" : "=r"(y) : "r"(y));
    return y;
#else
    return (uint32_t)(y - INT8_MIN) > 255u ? (y >> 31) ^ INT8_MAX : y;
#endif
}

/* Returns x of the formula above. `sum` is the accumulator without the bias; `bias` is 256 times the bias plus the
 * offset. The offset is in the low eight bits, so it is less than one unit of the accumulator. It makes the
 * rounding more exact.
 *
 * If the layer is two-sided, the low eight bits of `bias` are the offset minus one. The offset is added if the
 * accumulator is positive or 0. If the accumulator is negative, the offset plus one is subtracted, because LiteRT's
 * second rounding rounds ties away from zero. */
static inline int32_t ar_affine_x(int32_t sum, int32_t bias, int two_sided)
{
    const int32_t x = (int32_t)(((uint32_t)sum << 8) + (uint32_t)bias);
    if (!two_sided) {
        return x;
    }
    return x < 0 ? x - 2 * ((x & 255) + 1) : x + 1;
}

/* Returns the output for x, saturated to int8. `rounding` is the rounding constant described at ar_affine. */
static inline int8_t ar_affine_s8(int32_t x, int32_t multiplier, int32_t rounding, int shift)
{
    return (int8_t)ar_saturate_s8((ar_mul_high(x, multiplier) + rounding) >> shift);
}

/* Writes the outputs of `count` neighboring channels to `out`. `sum` has each channel's accumulator without the bias,
 * `bias` each channel's bias as in ar_affine_x. */
void ar_affine_channels_s8(const ar_affine *a, const int32_t *sum, const int32_t *bias,
                           const int32_t *multiplier, int8_t *out, int32_t count);

/* Clamps `count` outputs to [low, high], the range of a fused activation. Does nothing if that is the range of int8. */
static inline void ar_clamp_s8(int8_t *out, int32_t count, int32_t low, int32_t high)
{
    if (low == INT8_MIN && high == INT8_MAX) {
        return;
    }
    for (int32_t i = 0; i < count; i++) {
        out[i] = (int8_t)(out[i] < low ? low : out[i] > high ? high : out[i]);
    }
}

/* Does the same as ar_clamp_s8, but is not inlined. */
void ar_clamp_channels_s8(int8_t *out, int32_t count, int32_t low, int32_t high);

#endif
