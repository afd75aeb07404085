/* SOFTMAX, int16, output scale 1/32768, with exp and reciprocal from tables. */
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
        int32_t sum = 0; /* Q16.15 */
        for (int32_t i = 0; i < p->depth; i++) {
            const int32_t scaled = ar_requant(in[i] - largest, p->multiplier, p->shift) + INT16_MAX;
            out[i] = ar_lut_s16(ar_clamp(scaled, INT16_MIN, INT16_MAX), p->exp_table);
            sum += out[i];
        }
        const int headroom = ar_clz((uint32_t)sum); /* sign bit included */
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
