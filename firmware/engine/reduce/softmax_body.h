/* SOFTMAX of int8 values. The file that includes this header defines first:
 *
 * - OUTPUT, the type of the output, with OUTPUT_BITS, OUTPUT_MIN and OUTPUT_MAX;
 * - SOFTMAX, the name of the kernel. */
#include "softmax.h"

#include "bits.h"
#include "exp_fixed.h"
#include "fixed_point.h"

/* Returns exp of an input difference `diff` in Q0.31. */
static int32_t exp_of(const ar_softmax_params *p, int32_t diff)
{
    return ar_exp_negative(ar_high_mul((int32_t)((uint32_t)diff << p->shift), p->multiplier));
}

void SOFTMAX(const ar_softmax_params *p)
{
    const int8_t *in = p->input;
    OUTPUT *out = p->output;

    for (uint32_t r = 0; r < p->rows; r++, in += p->depth, out += p->depth) {
        int32_t largest = INT8_MIN;
        for (int32_t i = 0; i < p->depth; i++) {
            largest = in[i] > largest ? in[i] : largest;
        }
        int32_t sum = 0; /* in Q12.19 */
        for (int32_t i = 0; i < p->depth; i++) {
            if (in[i] - largest >= p->diff_min) {
                sum += ar_round_shift(exp_of(p, in[i] - largest), 12);
            }
        }
        /* sum = (1 + f) * 2^(12 - headroom) with f in [0, 1); `scale` is 1 / (1 + f). */
        const int headroom = ar_clz((uint32_t)sum);
        const int32_t scale = ar_one_over_one_plus((int32_t)(((uint32_t)sum << headroom) - (1u << 31)));
        const int exponent = 12 - headroom + 31 - OUTPUT_BITS;
        for (int32_t i = 0; i < p->depth; i++) {
            int32_t value = OUTPUT_MIN;
            /* With int8 outputs, the exponent is above 31 for over 511 classes with almost equal values, and LiteRT
             * aborts. Here the outputs are -128 then, because every probability is below half a step. */
            if (in[i] - largest >= p->diff_min && exponent <= 31) {
                value += ar_round_shift(ar_high_mul(scale, exp_of(p, in[i] - largest)), exponent);
            }
            out[i] = (OUTPUT)ar_clamp(value, OUTPUT_MIN, OUTPUT_MAX);
        }
    }
}
