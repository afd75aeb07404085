/* The map from a value with 16 fractional bits to a tensor's stored value: normalize and quantize in one step.
 *
 * It uses integers, except for a tensor of real numbers. Then the result is the product of an exact difference and a
 * constant. IEEE 754 rounds it in the same way on every machine, with or without an FPU, and no compiler can fuse
 * it with an addition.
 */
#ifndef ARENITE_AFFINE_H
#define ARENITE_AFFINE_H

#include <stdint.h>

/* `element_bytes` determines the type of an element: 1 is a byte, 2 is int16 and 4 is float. */
typedef struct {
    int32_t offset[3]; /* per channel, 16 fractional bits */
    int32_t multiplier[3];
    float step[3]; /* for float: the real value of one unit of the fraction */
    int32_t zero_point;
    int32_t low; /* the smallest and the largest stored value */
    int32_t high;
    uint8_t shift[3];
    uint8_t element_bytes;
} ar_affine;

/* Returns ((value - offset) * multiplier >> shift) + zero_point, rounded with ties upwards; |value| < 2^32. */
static inline int32_t ar_affine_stored(const ar_affine *p, uint32_t channel, int64_t value)
{
    const int64_t product = (value - p->offset[channel]) * p->multiplier[channel];
    const int shift = p->shift[channel];
    const int64_t stored = ((product + ((int64_t)1 << (shift - 1))) >> shift) + p->zero_point;
    return (int32_t)(stored < p->low ? p->low : stored > p->high ? p->high : stored);
}

/* Returns the value as a real number, for a tensor of floats. */
static inline float ar_affine_real(const ar_affine *p, uint32_t channel, int64_t value)
{
    return (float)(value - p->offset[channel]) * p->step[channel];
}

/* Store `value` as element `index` of `out`. */
static inline void ar_affine_store(const ar_affine *p, uint32_t channel, int64_t value, void *out,
                                   uint32_t index)
{
    if (p->element_bytes == 1) {
        ((uint8_t *)out)[index] = (uint8_t)ar_affine_stored(p, channel, value);
    } else if (p->element_bytes == 2) {
        ((int16_t *)out)[index] = (int16_t)ar_affine_stored(p, channel, value);
    } else {
        ((float *)out)[index] = ar_affine_real(p, channel, value);
    }
}

#endif
