/* Convert a YUV pixel (BT.601 in video range) to red, green and blue, with OpenCV's 20-bit coefficients. */
#ifndef ARENITE_YUV_H
#define ARENITE_YUV_H

#include <stdint.h>

/* Rounds a sum with 20 fractional bits, and limits it to a byte. */
static inline uint32_t ar_yuv_byte(int32_t value)
{
    value = (value + (1 << 19)) >> 20;
    return (uint32_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* Writes red, green and blue (0 to 255) of one pixel. */
static inline void ar_yuv(int32_t y, int32_t u, int32_t v, uint32_t *r, uint32_t *g, uint32_t *b)
{
    y = y < 16 ? 0 : (y - 16) * 1220542;
    u -= 128;
    v -= 128;
    *r = ar_yuv_byte(y + 1673527 * v);
    *g = ar_yuv_byte(y - 852492 * v - 409993 * u);
    *b = ar_yuv_byte(y + 2116026 * u);
}

#endif
