/* The last step of the int8 convolutions in plain C: requantizes an accumulator to an int8 output. */
#ifndef ARENITE_CONV_OUTPUT_H
#define ARENITE_CONV_OUTPUT_H

#include "conv_2d.h"
#include "fixed_point.h"

/* Returns the bias of channel c, or 0 if there is none. The upper `spare` bits of the bias word belong to the
 * multiplier, see below. */
static inline int32_t ar_conv_bias_s8(const ar_conv_2d_params *p, int32_t c)
{
    const uint32_t *bias = p->bias;
    return bias ? (int32_t)(bias[c] << p->spare) >> p->spare : 0;
}

/* Returns the output of channel c for the accumulator `acc`, which includes the bias.
 *
 * If p->shift is 0, the multiplier and the shift of a channel are packed into one value. Its low bits are a right
 * shift, and the bits above them are bits 3 to 29 of the multiplier. Bit 30 of a multiplier is always set, so it is not
 * stored. Bits 0 to 2 of the multiplier are dropped; the generator packs a layer only after it has proven that this
 * changes no output, for every accumulator that the weights allow. The lowest three bits of `packed_shift` are the
 * number of bits of the packed right shift; the other bits of `packed_shift` are a number that is added to every right
 * shift.
 *
 * If `spare` is 0, the packed value is a 32-bit word in `multiplier`. Otherwise it has 16 + `spare` bits: the lower 16
 * are in `multiplier`, the others are the upper `spare` bits of the channel's bias word. Then the number of dropped
 * bits is 14 - `spare` plus the number of bits of the packed right shift, so the bits that are kept fill the value. */
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
