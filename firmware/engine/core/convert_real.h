/* Converts between real and quantized numbers, for the program around a model: real = scale * (stored - zero_point).
 *
 * No library is needed. On a core without floating-point unit the compiler's routines are used, but only if the program
 * calls one of the functions. ar_quantise gives the result of LiteRT: the quotient in single precision, rounded with
 * halves away from zero, clamped to the range of the type.
 */
#ifndef ARENITE_CONVERT_REAL_H
#define ARENITE_CONVERT_REAL_H

#include <stdint.h>

/* Returns the stored value in [low, high] that is nearest to `real`. Returns `low` for NaN. */
static inline int32_t ar_quantise(float real, float scale, int32_t zero_point, int32_t low, int32_t high)
{
    const float steps = real / scale;
    if (!(steps > (float)(low - zero_point))) {
        return low;
    }
    if (steps >= (float)(high - zero_point)) {
        return high;
    }
    /* The value is in range, so the conversion is defined, and the fraction that it cuts off is exact. */
    const int32_t whole = (int32_t)steps;
    const float rest = steps - (float)whole;
    return zero_point + whole + (rest >= 0.5f) - (rest <= -0.5f);
}

/* Returns the real number that `stored` stands for. */
static inline float ar_dequantise(int32_t stored, float scale, int32_t zero_point)
{
    return scale * (float)(stored - zero_point);
}

#endif
