/* Evaluates a function of an int16 by linear interpolation in a table. The table has the function's values at the 513
 * inputs -32768, -32640, ... 32768, which are 128 apart. */
#ifndef ARENITE_LUT_S16_H
#define ARENITE_LUT_S16_H

#include <stdint.h>

static inline int16_t ar_lut_s16(int32_t x, const int16_t *table)
{
    const int16_t *base = table + (256 + (x >> 7));
    const int16_t slope = (int16_t)(base[1] - base[0]);
    return (int16_t)(base[0] + ((slope * (x & 127) + 64) >> 7));
}

#endif
