/* The last step of every int8 convolution: an accumulator becomes an output. */
#ifndef ARENITE_CONV_OUTPUT_H
#define ARENITE_CONV_OUTPUT_H

#include "conv_2d.h"
#include "fixed_point.h"

/* Without a shift table, a multiplier's word holds its bits 3 to 29 above five bits of shift to the right; bit 30 is
 * always set, and the generator packs a layer only after proving, for every accumulator that the weights allow, that
 * the three lowest bits change no output. */
static inline int8_t ar_conv_output_s8(const ar_conv_2d_params *p, int32_t acc, int32_t c)
{
    int32_t multiplier = p->multiplier[c];
    int shift;
    if (p->shift) {
        shift = p->shift[c];
    } else {
        shift = -(multiplier & 31);
        multiplier = (int32_t)((((uint32_t)multiplier >> 5) << 3) | 0x40000000u);
    }
    acc = ar_requant(acc, multiplier, shift) + p->output_offset;
    return (int8_t)ar_clamp(acc, p->act_min, p->act_max);
}

#endif
