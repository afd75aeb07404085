/* The last step of every int8 convolution: an accumulator becomes an output. */
#ifndef ARENITE_CONV_OUTPUT_H
#define ARENITE_CONV_OUTPUT_H

#include "conv_2d.h"
#include "fixed_point.h"

/* The bias of channel c: what is below its word's spare bits. */
static inline int32_t ar_conv_bias_s8(const ar_conv_2d_params *p, int32_t c)
{
    const uint32_t *bias = p->bias;
    return bias ? (int32_t)(bias[c] << p->spare) >> p->spare : 0;
}

/* Without a shift table, a channel's bits hold the multiplier's bits 3 to 29 above a shift to the right; bit 30 is always
 * set, and the generator packs a layer only after proving, for every accumulator that the weights allow, that the three
 * lowest bits change no output. With spare bits, it may be fewer or more than three: as many as have no room. The last
 * three bits of `packed_shift` are the number of bits of the shift, the others are added to it. A channel's bits are a
 * word, or 16 bits with the spare bits of the bias word above them. */
static inline int8_t ar_conv_output_s8(const ar_conv_2d_params *p, int32_t acc, int32_t c)
{
    int32_t multiplier;
    int shift;
    if (p->shift) {
        multiplier = ((const int32_t *)p->multiplier)[c];
        shift = p->shift[c];
    } else {
        uint32_t bits =
            p->spare ? ((const uint16_t *)p->multiplier)[c] : ((const uint32_t *)p->multiplier)[c];
        if (p->spare) {
            bits |= ((const uint32_t *)p->bias)[c] >> (32 - p->spare) << 16;
        }
        const int shift_bits = p->packed_shift & 7;
        shift = -(int)((p->packed_shift >> 3) + (bits & ((1u << shift_bits) - 1u)));
        const int dropped = p->spare ? 14 + shift_bits - p->spare : 3;
        multiplier = (int32_t)((bits >> shift_bits << dropped) | 0x40000000u);
    }
    acc = ar_requant(acc, multiplier, shift) + p->output_offset;
    return (int8_t)ar_clamp(acc, p->act_min, p->act_max);
}

#endif
