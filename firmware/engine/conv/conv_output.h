/* The last step of every int8 convolution: requantize an accumulator to an int8 output. */
#ifndef ARENITE_CONV_OUTPUT_H
#define ARENITE_CONV_OUTPUT_H

#include "conv_2d.h"
#include "fixed_point.h"

/* The bias of channel c. The upper `spare` bits of its word belong to the multiplier, see below. */
static inline int32_t ar_conv_bias_s8(const ar_conv_2d_params *p, int32_t c)
{
    const uint32_t *bias = p->bias;
    return bias ? (int32_t)(bias[c] << p->spare) >> p->spare : 0;
}

/* If `shift` is 0, multiplier and shift of a channel are packed into one value: the low bits hold a right shift, the
 * bits above it the multiplier's bits 3 to 29. Bit 30 of a multiplier is always set. Bits 0 to 2 are dropped; the
 * generator packs a layer only after it has proven that they change no output, for every accumulator that the
 * weights allow. The lowest three bits of `packed_shift` are the width of the shift field; its other bits are added
 * to the shift. If `spare` is 0, the packed value is a 32-bit word. Otherwise it has 16 + `spare` bits: 16 from
 * `multiplier`, and above them the upper `spare` bits of the channel's bias word. Then the number of dropped bits
 * can differ from three. */
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
