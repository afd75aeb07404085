/* SOFTMAX, int16, with output scale 1/32768. The exponential function and the reciprocal are read from tables. */
#include "bits.h"
#include "fixed_point.h"
#include "lut_s16.h"
#include "softmax.h"

void ar_softmax_s16(const ar_softmax_s16_params *p)
{
    const int16_t *in = p->input;
    int16_t *out = p->output;

    for (uint32_t r = 0; r < p->rows; r++, in += p->depth, out += p->depth) {
        int32_t largest = INT16_MIN;
        for (int32_t i = 0; i < p->depth; i++) {
            largest = in[i] > largest ? in[i] : largest;
        }
        int32_t sum = 0; /* in Q16.15 */
        for (int32_t i = 0; i < p->depth; i++) {
            const int32_t scaled = ar_requant(in[i] - largest, p->multiplier, p->shift) + INT16_MAX;
            out[i] = ar_lut_s16(ar_clamp(scaled, INT16_MIN, INT16_MAX), p->exp_table);
            sum += out[i];
        }
        /* sum = (1 + f) * 2^n with f in [0, 1). `wide` is (1 + f) * 2^30, plus 2^13 for rounding to 16 fraction bits.
         * `fraction` is (f - 1/2) * 2^16, an int16 for the table of 1 / (1 + f). */
        const int headroom = ar_clz((uint32_t)sum); /* leading zeros, including the sign bit */
        const int64_t wide = ((int64_t)sum << (headroom - 1)) + (1 << 13);
        const int32_t fraction = (int32_t)(wide >> 14) - ((1 << 15) + (1 << 16));
        const int32_t reciprocal = ar_lut_s16(ar_clamp(fraction, INT16_MIN, INT16_MAX), p->reciprocal_table);
        const int right = 31 - headroom;
        for (int32_t i = 0; i < p->depth; i++) {
            const int32_t value = (out[i] * reciprocal + (1 << (right - 1))) >> right;
            out[i] = (int16_t)ar_clamp(value, 0, INT16_MAX);
        }
    }
}
