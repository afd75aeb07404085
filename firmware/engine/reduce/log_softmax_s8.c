/* LOG_SOFTMAX, int8. */
#include "log_softmax.h"

#include "bits.h"
#include "exp_fixed.h"
#include "fixed_point.h"

/* Returns log(x) in Q5.26, for x >= 1 in Q12.19, approximated as in TFLite's
 * log_x_for_x_greater_than_or_equal_to_1: x is split into 2^k * r with r near 2^(-1/4). Then
 * log(x) = (k - 1/4) * log(2) + log(2^(1/4) * r), and the second logarithm, which is near 0, is computed with a
 * rational function of r. */
static int32_t log_of(int32_t x)
{
    const int32_t log_2 = 1488522236; /* in Q0.31, like all these constants except `quarter` */
    const int32_t sqrt_half = 1518500250;
    const int32_t fourth_root_half = 1805811301;
    const int32_t alpha_n = 117049297;  /* 11/240 * 2^(1/4) */
    const int32_t alpha_d = 127690142;  /* 1/20 * 2^(1/4) */
    const int32_t alpha_i = 1057819769; /* 2 / 2^(1/4) - 2^(1/4) */
    const int32_t alpha_f = 638450708;  /* 1/4 * 2^(1/4) */
    const int32_t quarter = 1 << 23;    /* in Q6.25 */

    /* a and b are two candidates for r; a_power and b_power are their k - 1/4. For b, k is an integer. For a, k is an
     * integer minus 1/2, because x is multiplied by the root of 1/2. The smaller r belongs to the larger k. */
    const int a_shift = ar_clz((uint32_t)x) - 1;
    const int32_t a = ar_shift_saturating(ar_high_mul(ar_shift_saturating(x, a_shift), sqrt_half), 1);
    const int32_t a_power = ((11 - a_shift) << 25) + quarter;
    const int b_shift = ar_clz((uint32_t)ar_high_mul(x, sqrt_half)) - 1;
    const int32_t b = ar_shift_saturating(x, b_shift);
    const int32_t b_power = ((12 - b_shift) << 25) - quarter;
    const int32_t r = a < b ? a : b;
    const int32_t power = a_power > b_power ? a_power : b_power;

    const int32_t p = (int32_t)(((int64_t)r + fourth_root_half + 1) / 2);
    const int32_t q = 2 * (r - fourth_root_half);
    const int32_t q2 = ar_high_mul(q, q);
    const int32_t numerator = ar_high_mul(q, r) + ar_high_mul(ar_high_mul(q, q2), alpha_n);
    const int32_t bracket = alpha_i + q + ar_high_mul(alpha_d, q2);
    const int32_t denominator = ar_high_mul(p, bracket) + ar_high_mul(alpha_f, q); /* the denominator - 1 */
    const int32_t quotient = ar_high_mul(ar_round_shift(numerator, 6), ar_one_over_one_plus(denominator));
    return ar_shift_saturating(ar_high_mul(power, log_2) + quotient, 1);
}

void ar_log_softmax_s8(const ar_log_softmax_params *p)
{
    const int8_t *in = p->input;
    int8_t *out = p->output;

    for (uint32_t r = 0; r < p->rows; r++, in += p->depth, out += p->depth) {
        int32_t largest = INT8_MIN;
        for (int32_t i = 0; i < p->depth; i++) {
            largest = in[i] > largest ? in[i] : largest;
        }
        int32_t sum = 0; /* in Q12.19 */
        for (int32_t i = 0; i < p->depth; i++) {
            if (in[i] - largest >= p->diff_min) {
                const int32_t diff = ar_requant(in[i] - largest, p->multiplier, p->shift);
                sum += ar_round_shift(ar_exp_negative(diff), 12);
            }
        }
        const int32_t log_sum = log_of(sum);
        /* The largest input difference for which diff - log_sum does not fit Q5.26. */
        int32_t too_small = ar_requant(INT32_MIN + log_sum, p->reverse_multiplier, p->reverse_shift);
        too_small = too_small > p->diff_min - 1 ? too_small : p->diff_min - 1;
        for (int32_t i = 0; i < p->depth; i++) {
            int32_t value = INT8_MIN;
            if (in[i] - largest > too_small) {
                const int32_t diff = ar_requant(in[i] - largest, p->multiplier, p->shift);
                value = ar_round_shift(diff - log_sum, 22) +
                        127; /* from Q5.26 to scale 2^-4 and zero point 127 */
            }
            out[i] = (int8_t)ar_clamp(value, INT8_MIN, INT8_MAX);
        }
    }
}
