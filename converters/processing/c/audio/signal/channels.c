/* Square root, noise reduction, gain control and logarithm of the micro front end; see channels.h. */
#include "channels.h"

/* Returns the integer part of the square root of x. `rest` becomes x minus its square. */
static uint32_t root32(uint32_t x, uint32_t *rest)
{
    uint32_t root = 0;
    for (uint32_t bit = 1u << 30; bit; bit >>= 2) {
        const uint32_t trial = root + bit;
        root >>= 1;
        if (x >= trial) {
            x -= trial;
            root += bit;
        }
    }
    *rest = x;
    return root;
}

/* Returns the integer part of the square root of x, which is 2^32 or more: the root of the upper word, and a division
 * by it for the lower 16 bits. */
static uint32_t root64(uint64_t x)
{
    const int shift = (32 - ar_bits32((uint32_t)(x >> 32))) & ~1;
    const uint64_t y = x << shift;
    const uint32_t low = (uint32_t)y;
    uint32_t rest;
    const uint32_t high_root = root32((uint32_t)(y >> 32), &rest);
    const uint32_t dividend = (rest << 15) + (low >> 17);
    const uint32_t quotient = dividend / high_root;
    const uint32_t left = 2 * (dividend - quotient * high_root) + ((low >> 16) & 1u);
    const uint64_t square = (uint64_t)quotient * quotient;
    /* The estimate is too large by at most 1. It can also be 2^32. */
    const uint64_t root =
        ((uint64_t)high_root << 16) + quotient - ((((uint64_t)left << 16) | (low & 0xFFFFu)) < square);
    return (uint32_t)(root >> (shift / 2));
}

uint32_t ar_rounded_root(uint64_t x)
{
    if (x >> 32 == 0) {
        uint32_t rest;
        const uint32_t root = root32((uint32_t)x, &rest);
        return root + (rest > root && root != 0xFFFFu);
    }
    const uint32_t root = root64(x);
    return root + (x - (uint64_t)root * root > root && root != 0xFFFFFFFFu);
}

void ar_noise_reduce(const ar_noise *p, uint32_t channels, const uint32_t *in, uint32_t *out,
                     uint32_t *estimate)
{
    for (uint32_t c = 0; c < channels; c++) {
        const uint32_t signal = in[c] << p->smoothing_bits;
        uint32_t noise = (uint32_t)(((uint64_t)signal * p->smoothing[c & 1u] +
                                     (uint64_t)estimate[c] * p->keeping[c & 1u]) >>
                                    p->bits);
        estimate[c] = noise;
        if (noise > signal) {
            noise = signal;
            if (p->clamp) {
                estimate[c] = noise;
            }
        }
        const uint32_t floor = (uint32_t)(((uint64_t)in[c] * p->min_remaining) >> p->bits);
        const uint32_t left = (signal - noise) >> p->smoothing_bits;
        out[c] = left > floor ? left : floor;
    }
}

/* Returns the gain for an estimate of the noise: a parabola for each bit length. */
static uint32_t gain_of(const int16_t *gains, uint32_t noise)
{
    if (noise <= 2) {
        return (uint32_t)gains[noise];
    }
    const int bits = ar_bits32(noise);
    const int16_t *g = gains + 4 * bits - 6;
    const int32_t part = (int32_t)((bits < 11 ? noise << (11 - bits) : noise >> (bits - 11)) & 0x3FFu);
    const uint32_t slope = (uint32_t)((g[2] * part) >> 5) + ((uint32_t)g[1] << 5);
    const int32_t rise = (int32_t)(slope * (uint32_t)part + (1u << 14)) >> 15;
    return (uint32_t)(int16_t)(rise + g[0]);
}

void ar_gain_control(const int16_t *gains, uint32_t shift, uint32_t channels, const uint32_t *in,
                     const uint32_t *estimate, uint32_t *out)
{
    for (uint32_t c = 0; c < channels; c++) {
        const uint32_t ratio = (uint32_t)(((uint64_t)in[c] * gain_of(gains, estimate[c])) >> shift);
        /* Below 2 the result is the square of the ratio / 2, above it is the ratio - 1; 6 fractional bits. */
        out[c] = ratio < 2u << 12 ? (ratio * ratio) >> 20 : (ratio >> 6) - (1u << 6);
    }
}

uint32_t ar_scaled_log(const uint16_t *table, uint32_t scale, uint32_t x)
{
    if (x < 2) {
        return 0;
    }
    const int whole = ar_bits32(x) - 1;
    const uint32_t rest = x - (1u << whole);
    const uint32_t part = whole < 16 ? rest << (16 - whole) : rest >> (whole - 16);
    const int32_t base = table[part >> 9], rise = table[(part >> 9) + 1] - base;
    /* The original code shifts by 16 bits, although a segment has only 9. */
    const uint32_t log2 =
        ((uint32_t)whole << 16) + part + (uint32_t)(base + ((rise * (int32_t)(part & 511u)) >> 16));
    const uint32_t ln = (uint32_t)((45426u * (uint64_t)log2 + 0x8000u) >> 16);
    return (scale * ln + 0x8000u) >> 16;
}
