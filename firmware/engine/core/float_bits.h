/* Accesses the bits of float32 values, so that rounding them needs neither a library nor an FPU. */
#ifndef ARENITE_FLOAT_BITS_H
#define ARENITE_FLOAT_BITS_H

#include <stdint.h>

static inline uint32_t ar_float_bits(float x)
{
    const union {
        float value;
        uint32_t bits;
    } u = {x};
    return u.bits;
}

static inline float ar_float_from_bits(uint32_t bits)
{
    const union {
        uint32_t bits;
        float value;
    } u = {bits};
    return u.value;
}

/* Returns |x| as an integer, where `bits` are the bits of x. It is rounded towards zero if `nudge` is 0, and to nearest
 * with ties away from zero if `nudge` is 1. Returns 2^31 for NaN and if |x| is at least 2^31. */
static inline uint32_t ar_float_magnitude(uint32_t bits, uint32_t nudge)
{
    const int exponent = (int)(bits >> 23 & 0xFFu) - 150; /* |x| = mantissa * 2^exponent */
    const uint32_t mantissa = (bits & 0x7FFFFFu) | 0x800000u;
    if (exponent > 7) {
        return 0x80000000u;
    }
    if (exponent >= 0) {
        return mantissa << exponent;
    }
    if (exponent < -24) {
        return 0; /* |x| is below one half */
    }
    return ((mantissa >> (-exponent - 1)) + nudge) >> 1;
}

#endif
