/* The functions of `dot_s8_dsp.h` in portable C instead of assembly, for tests on other machines. */
#ifndef ARENITE_DOT_S8_PLAIN_H
#define ARENITE_DOT_S8_PLAIN_H

#include "dot_s8_dsp.h"

/* Returns the output for x (256 * sum + offset): x is scaled and limited to int8. */
static inline int8_t ar_dot_output(int32_t x, int32_t multiplier, int32_t rounding, int32_t shift)
{
    const int64_t scaled = (int64_t)x * multiplier + rounding * ((int64_t)1 << 32);
    const int32_t y = (int32_t)(scaled >> 32) >> shift;
    return (int8_t)(y < -128 ? -128 : y > 127 ? 127 : y);
}

/* Returns `sum` plus the product of the lower halfwords and the product of the upper halfwords of a and b, modulo 2^32.
 * This is the instruction SMLAD. */
static inline uint32_t ar_dot_smlad(uint32_t sum, int32_t a, int32_t b)
{
    const int32_t low = (int16_t)a * (int16_t)b;
    const int32_t high = (int16_t)((uint32_t)a >> 16) * (int16_t)((uint32_t)b >> 16);
    return sum + (uint32_t)low + (uint32_t)high;
}

/* Returns the low bytes of both halfwords of w, each widened to 16 bits. This is the instruction SXTB16. */
static inline int32_t ar_dot_low_bytes(int32_t w)
{
    const uint32_t high = (uint32_t)(int32_t)(int8_t)((uint32_t)w >> 16);
    return (int32_t)(high << 16 | (uint16_t)(int8_t)w);
}

/* Returns the sums of both halfwords of x and the low bytes of both halfwords of w. This is the instruction SXTAB16. */
static inline int32_t ar_dot_add_low_bytes(int32_t x, int32_t w)
{
    const uint32_t low = (uint32_t)x + (uint32_t)(int32_t)(int8_t)w;
    const uint32_t high = ((uint32_t)x >> 16) + (uint32_t)(int32_t)(int8_t)((uint32_t)w >> 16);
    return (int32_t)(high << 16 | (low & 0xFFFFu));
}

/* Computes the outputs of `pixels` pixels (2 or 3). */
static inline void ar_dot_s8_plain(const ar_dot_s8_dsp *d, int32_t pixels)
{
    const int32_t words = d->groups * 2;
    const int32_t *requant = d->requant;
    int8_t *out = d->out;
    for (const int32_t *pair = d->pair; pair != d->end; pair += 2 + words, out += 2) {
        for (int32_t i = 0; i < pixels; i++) {
            uint32_t both = (uint32_t)pair[0];
            uint32_t b = (uint32_t)pair[1];
            for (int32_t k = 0; k < words; k++) {
                const int32_t x = d->x[k * pixels + i];
                both = ar_dot_smlad(both, pair[2 + k], x);
                b = ar_dot_smlad(b, ar_dot_low_bytes(pair[2 + k]), x);
            }
            const int32_t x0 = (int32_t)(both - b);
            const int32_t x1 = (int32_t)(b << 8);
            int8_t *o = out + i * d->pixel;
            if (d->form == AR_DOT_TWO_SIDED) {
                o[0] = ar_dot_output(x0 + (requant[1] ^ (x0 >> 31)), requant[0], d->rounding, d->shift);
                o[1] = ar_dot_output(x1 + (requant[3] ^ (x1 >> 31)), requant[2], d->rounding, d->shift);
            } else {
                o[0] = ar_dot_output(x0, requant[0], d->rounding, d->shift);
                o[1] = ar_dot_output(x1 | (int32_t)(b >> 24), requant[1], d->rounding, d->shift);
            }
        }
        requant += d->form == AR_DOT_TWO_SIDED ? 4 : 2;
    }
}

#endif
