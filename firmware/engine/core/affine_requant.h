/* An accumulator becomes an int8 output with one high multiplication.
 *
 * out = clamp((x * multiplier + rounding * 2^32) >> (32 + shift)) with x the accumulator times 256 and an offset. The
 * generator uses it only where it has proven, for every accumulator that can occur, that it gives what LiteRT's own
 * rounding gives; see affine_requant.py.
 */
#ifndef ARENITE_AFFINE_REQUANT_H
#define ARENITE_AFFINE_REQUANT_H

#include <stdint.h>

#if defined(__XTENSA__) || defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__)
#define AR_NO_LONG_PRODUCT /* a 64-bit product would be a call */
#endif

/* The constants that all channels of a layer share. */
typedef struct {
    uint8_t shift, two_sided;
    int8_t zero_point; /* of the output; the rounding is half an output more */
} ar_affine;

/* The upper half of a * b; b is not negative. */
static inline int32_t ar_mul_high(int32_t a, int32_t b)
{
#if defined(AR_NO_LONG_PRODUCT)
    const uint32_t a_low = (uint32_t)a & 0xFFFFu, b_low = (uint32_t)b & 0xFFFFu;
    const int32_t a_high = a >> 16, b_high = b >> 16;
    /* |a_high * b_low| < 2^31, and what is carried into it adds less than 2^16: it may only come near the end of the
     * range when a_high is -2^15, and then upwards. */
    const int32_t middle = a_high * (int32_t)b_low + (int32_t)((a_low * b_low) >> 16);
    const uint32_t other = a_low * (uint32_t)b_high + ((uint32_t)middle & 0xFFFFu);
    return a_high * b_high + (middle >> 16) + (int32_t)(other >> 16);
#else
    return (int32_t)(((int64_t)a * b) >> 32);
#endif
}

/* The nearest int8. */
static inline int32_t ar_saturate_s8(int32_t y)
{
#if defined(__ARM_FEATURE_SAT)
    __asm__("ssat %0, #8, %1" : "=r"(y) : "r"(y));
    return y;
#else
    return (uint32_t)(y - INT8_MIN) > 255u ? (y >> 31) ^ INT8_MAX : y;
#endif
}

/* `sum` lacks the bias, which comes 256 times as large, for outputs that round better than a whole accumulator can say.
 *
 * Two-sided, the last eight bits of `bias` are one less than an offset that is added to the accumulator when it is
 * positive and taken off, and one more, when it is negative: LiteRT's second rounding goes away from zero. */
static inline int32_t ar_affine_x(int32_t sum, int32_t bias, int two_sided)
{
    const int32_t x = (int32_t)(((uint32_t)sum << 8) + (uint32_t)bias);
    if (!two_sided) {
        return x;
    }
    return x < 0 ? x - 2 * ((x & 255) + 1) : x + 1;
}

static inline int8_t ar_affine_s8(int32_t x, int32_t multiplier, int32_t rounding, int shift)
{
    return (int8_t)ar_saturate_s8((ar_mul_high(x, multiplier) + rounding) >> shift);
}

/* The outputs of neighbouring channels. */
void ar_affine_channels_s8(const ar_affine *a, const int32_t *sum, const int32_t *bias,
                           const int32_t *multiplier, int8_t *out, int32_t count);

/* A fused activation that is narrower than int8, after the fact. */
static inline void ar_clamp_s8(int8_t *out, int32_t count, int32_t low, int32_t high)
{
    if (low == INT8_MIN && high == INT8_MAX) {
        return;
    }
    for (int32_t i = 0; i < count; i++) {
        out[i] = (int8_t)(out[i] < low ? low : out[i] > high ? high : out[i]);
    }
}

/* The same as a function. */
void ar_clamp_channels_s8(int8_t *out, int32_t count, int32_t low, int32_t high);

#endif
