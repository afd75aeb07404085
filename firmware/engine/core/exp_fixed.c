/* The exponential function and the reciprocal in fixed point, see exp_fixed.h. */
#include "exp_fixed.h"

#include "fixed_point.h"

int32_t ar_exp_negative(int32_t x)
{
    static const int32_t power[7] = {/* power[k] = exp(-2^(k - 2)), in Q0.31 */
                                     1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
    const int32_t quarter = 1 << 24;
    if (x == 0) {
        return INT32_MAX;
    }
    /* Split x (in Q5.26) into part - whole, where part is in [-1/4, 0) and whole is a multiple of 1/4. Then exp(x) is
     * exp(part) * exp(-whole). */
    const int32_t part = (x & (quarter - 1)) - quarter;
    const uint32_t whole = (uint32_t)part - (uint32_t)x;

    /* Compute exp(part) with its Taylor series around -1/8, in Q0.31; t is part + 1/8. */
    const int32_t constant = 1895147668; /* exp(-1/8) */
    const int32_t t = part * 32 + (1 << 28);
    const int32_t t2 = ar_high_mul(t, t);
    const int32_t t3 = ar_high_mul(t2, t);
    const int32_t t4_over_4 = ar_round_shift(ar_high_mul(t2, t2), 2);
    const int32_t third = 715827883; /* 1/3 */
    const int32_t tail = ar_round_shift(ar_high_mul(t4_over_4 + t3, third) + t2, 1);
    int32_t result = constant + ar_high_mul(constant, t + tail);

    /* Multiply by exp(-whole): bit 24 + k of whole stands for 2^(k - 2), and power[k] is exp(-2^(k - 2)). */
    for (int k = 0; k < 7; k++) {
        if (whole >> (24 + k) & 1) {
            result = ar_high_mul(result, power[k]);
        }
    }
    return result;
}

int32_t ar_shift_saturating(int32_t x, int exponent)
{
    const int32_t limit = (int32_t)((1u << (31 - exponent)) - 1u);
    return x > limit ? INT32_MAX : x < -limit ? INT32_MIN : (int32_t)((uint32_t)x << exponent);
}

int32_t ar_one_over_one_plus(int32_t x)
{
    /* Newton's iteration for the reciprocal of d = (1 + x) / 2. y approximates 1 / d, in Q2.29; it starts from
     * 48/17 - 32/17 d. */
    const int32_t d = (int32_t)(((int64_t)x + INT32_MAX + 1) / 2);
    int32_t y = 1515870810 + ar_high_mul(d, -1010580540);
    for (int k = 0; k < 3; k++) {
        const int32_t error = (1 << 29) - ar_high_mul(d, y);
        y += ar_shift_saturating(ar_high_mul(y, error), 2);
    }
    return ar_shift_saturating(
        y, 1); /* 2 * y is 1 / d in Q1.30. Read as Q0.31, the same bits are 1 / (2 * d) = 1 / (1 + x). */
}
