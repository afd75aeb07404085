/* The functions of `dot_w4_dsp.h` in portable C instead of assembly, for tests on other machines. */
#ifndef ARENITE_DOT_W4_PLAIN_H
#define ARENITE_DOT_W4_PLAIN_H

#include "dot_s8_plain.h"
#include "dot_w4_dsp.h"

/* Computes the outputs of `pixels` pixels (2 or 3). */
static inline void ar_dot_w4_plain(const ar_dot_w4_dsp *d, int32_t pixels)
{
    const int32_t *requant = d->requant;
    int8_t *out = d->out;
    for (const int32_t *pair = d->pair; pair != d->end; pair += 2 + d->groups, out += 2) {
        for (int32_t i = 0; i < pixels; i++) {
            uint32_t both = (uint32_t)pair[0];
            uint32_t b = (uint32_t)pair[1];
            for (int32_t k = 0; k < 2 * d->groups; k++) {
                const int32_t x = d->x[k * pixels + i];
                const uint32_t word = (uint32_t)pair[2 + k / 2];
                const int32_t w = ar_dot_low_bytes((int32_t)(k % 2 ? word >> 8 : word));
                both = ar_dot_smlad(both, w, x);
                b = ar_dot_smlad(b, w & 0x000F000F, x);
            }
            const int32_t x0 = (int32_t)((both - b) << 4);
            b -= (uint32_t)d->sums[i];
            const int32_t x1 = (int32_t)(b << 8);
            int8_t *o = out + i * d->pixel;
            if (d->form == AR_DOT_TWO_SIDED) {
                o[0] = ar_dot_output(x0 + (requant[1] ^ (x0 >> 31)), requant[0], d->rounding, d->shift);
                o[1] = ar_dot_output(x1 + (requant[3] ^ (x1 >> 31)), requant[2], d->rounding, d->shift);
            } else {
                o[0] = ar_dot_output(x0 + requant[0], requant[1], d->rounding, d->shift);
                o[1] = ar_dot_output(x1 | (int32_t)(b >> 24), requant[2], d->rounding, d->shift);
            }
        }
        requant += d->form == AR_DOT_TWO_SIDED ? 4 : 3;
    }
}

#endif
