/* Reads the bias and the scale of a channel that the generator has stored in six or eight bytes (see conv_output.h), for
 * kernels that are small and use the DSP extension. */
#ifndef ARENITE_COMPACT_SCALE_H
#define ARENITE_COMPACT_SCALE_H

#include <stdint.h>

/* The format of a layer's channels. A channel is one word and one entry of a table, whose entries are uint16, or uint32 if
 * `spare` is 0. */
typedef struct {
    int16_t zero_twice; /* twice the output's zero point, plus one */
    uint8_t
        spare; /* number of upper bits of the word that belong to the multiplier; the other bits are the bias */
    uint8_t shift_bits; /* number of bits of the relative right shift */
    int8_t shift_base;  /* number that is added to the relative right shift, minus one */
    uint8_t dropped;    /* number of low bits that a multiplier has and its stored form does not */
} ar_compact_format;

/* An output is
 *     saturate((y + rounding - (sum < 0)) >> right), where y = (2 * sum * multiplier + 2^31) >> 32.
 * This is LiteRT's rescaling, which rounds twice: rounding = (2 * zero point + 1) << (right - 1) has the half that is
 * added before the shift, and the zero point that is added after it. Subtracting one makes the shift round ties away
 * from zero if y is below zero. If y is 0, it changes nothing, because `right` is at least 1. */
typedef struct {
    int32_t multiplier, rounding, right;
} ar_compact_scale;

static inline int32_t ar_compact_bias(const ar_compact_format *f, uint32_t word)
{
    return (int32_t)(word << f->spare) >> f->spare;
}

static inline ar_compact_scale ar_compact_scale_of(const ar_compact_format *f, uint32_t word,
                                                   const void *table, int32_t c)
{
    uint32_t bits;
    if (f->spare) {
        bits = ((const uint16_t *)table)[c] | word >> (32 - f->spare) << 16;
    } else {
        bits = ((const uint32_t *)table)[c];
    }
    const int32_t half = (int32_t)(f->shift_base + (bits & ((1u << f->shift_bits) - 1u)));
    return (ar_compact_scale){
        .multiplier = (int32_t)(bits >> f->shift_bits << f->dropped | 0x40000000u),
        .rounding = (int32_t)((uint32_t)(int32_t)f->zero_twice << half),
        .right = half + 1,
    };
}

/* Returns the output for twice the sum of a channel. */
static inline int8_t ar_compact_output(int32_t twice, const ar_compact_scale *s)
{
    const int32_t y = (int32_t)(((int64_t)twice * s->multiplier + ((int64_t)1 << 31)) >> 32);
    const int32_t v = (y + s->rounding + (twice >> 31)) >> s->right;
    return (int8_t)(v < INT8_MIN ? INT8_MIN : v > INT8_MAX ? INT8_MAX : v);
}

#endif
