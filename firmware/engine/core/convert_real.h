/* Conversion between real and quantized numbers for the program around a model: real = scale * (stored - zero_point).
 *
 * No library is needed. A core without floating-point unit takes the compiler's routines, and no code where
 * neither function is called. The result of ar_quantise is LiteRT's: the quotient in single precision, halves away from
 * zero, clamped to the range of the type.
 */
#ifndef ARENITE_CONVERT_REAL_H
#define ARENITE_CONVERT_REAL_H

#include <stdint.h>

/* The stored value in [low, high] that is nearest to `real`; `low` for NaN. */
static inline int32_t ar_quantise(float real, float scale, int32_t zero_point, int32_t low, int32_t high)
{
    const float steps = real / scale;
    if (!(steps > (float)(low - zero_point))) {
        return low;
    }
    if (steps >= (float)(high - zero_point)) {
        return high;
    }
    /* In range, so that the conversion is defined; what it cuts off is exact. */
    const int32_t whole = (int32_t)steps;
    const float rest = steps - (float)whole;
    return zero_point + whole + (rest >= 0.5f) - (rest <= -0.5f);
}

static inline float ar_dequantise(int32_t stored, float scale, int32_t zero_point)
{
    return scale * (float)(stored - zero_point);
}

#endif
