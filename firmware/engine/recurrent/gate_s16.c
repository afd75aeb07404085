/* Sigmoid and tanh in 16-bit fixed point, see gate_s16.h. */
#include "gate_s16.h"

#include "fixed_point.h"

/* Returns (a * b) / 2^15, rounded to nearest and saturated. */
static int16_t mul(int16_t a, int16_t b)
{
    const int32_t product = (int32_t)a * b;
    const int32_t rounded = (product + (product >= 0 ? 1 << 14 : 1 - (1 << 14))) / (1 << 15);
    return (int16_t)(rounded > INT16_MAX ? INT16_MAX : rounded);
}

/* Returns x * 2^exponent, saturated. */
static int16_t shift(int16_t x, int exponent)
{
    const int32_t limit = (1 << (15 - exponent)) - 1;
    return (int16_t)(x > limit ? INT16_MAX : x < -limit ? INT16_MIN : (int32_t)((uint32_t)x << exponent));
}

/* Returns exp(x) in Q0.15, for x <= 0 with `integer_bits` (1 to 7) integer bits. */
static int16_t exp_negative(int16_t x, int integer_bits)
{
    static const int16_t power[7] = {25520, 19875, 12055, 4435, 600, 11, 0}; /* exp(-2^(k - 2)), Q0.15 */
    const int quarter_bits = 15 - integer_bits - 2;
    const int32_t quarter = 1 << quarter_bits;
    if (x == 0) {
        return INT16_MAX;
    }
    if (integer_bits > 5 && x < -(1 << (20 - integer_bits))) { /* x is below -32 */
        return 0;
    }
    /* Split x into part - whole, where part is in [-1/4, 0) and whole is a multiple of 1/4. Then exp(x) is exp(part) *
     * exp(-whole). */
    const int32_t part = (x & (quarter - 1)) - quarter;
    const uint32_t whole = (uint32_t)(part - x);

    /* Compute exp(part) with its Taylor series around -1/8, in Q0.15; t is part + 1/8, and 10923 is 1/3. */
    const int16_t constant = 28918; /* exp(-1/8) */
    const int16_t t = (int16_t)(shift((int16_t)part, integer_bits) + (1 << 12));
    const int16_t t2 = mul(t, t);
    const int16_t t3 = mul(t2, t);
    const int32_t t4_over_4 = ar_round_shift(mul(t2, t2), 2);
    const int32_t tail = ar_round_shift(mul((int16_t)(t4_over_4 + t3), 10923) + t2, 1);
    int16_t result = (int16_t)ar_clamp(constant + mul(constant, (int16_t)(t + tail)), INT16_MIN, INT16_MAX);

    /* Multiply by exp(-whole): bit quarter_bits + k of whole stands for 2^(k - 2), and power[k] is exp(-2^(k - 2)). */
    for (int k = 0; k < 2 + integer_bits; k++) {
        if (whole >> (quarter_bits + k) & 1) {
            result = mul(result, power[k]);
        }
    }
    return result;
}

/* Returns 2 / (1 + x) in Q2.13, for x in [0, 1) in Q0.15. Uses Newton's iteration for the reciprocal of
 * d = (1 + x) / 2. */
static int16_t reciprocal(int16_t x)
{
    const int16_t d = (int16_t)((x + INT16_MAX + 1) / 2);
    int16_t y = (int16_t)(23130 + mul(d, -15420)); /* y starts from 48/17 - 32/17 d */
    for (int k = 0; k < 3; k++) {
        const int16_t error = (int16_t)((1 << 13) - mul(d, y));
        y = (int16_t)(y + shift(mul(y, error), 2));
    }
    return y;
}

int16_t ar_sigmoid_s16(int16_t x)
{
    if (x == 0) {
        return 1 << 14;
    }
    const int16_t positive = shift(reciprocal(exp_negative(x > 0 ? (int16_t)-x : x, 3)), 1);
    return x > 0 ? positive : (int16_t)(INT16_MAX - positive);
}

int16_t ar_tanh_s16(int16_t x, int integer_bits)
{
    if (x == 0) {
        return 0;
    }
    /* tanh(|x|) = (1 - e) / (1 + e) = 2 / (1 + e) - 1, where e = exp(-2 |x|). Read with one more integer bit, the bits
     * of x are 2 x. */
    const int16_t e = exp_negative(x > 0 ? (int16_t)-x : x, integer_bits + 1);
    const int16_t t = shift((int16_t)(reciprocal(e) - (1 << 13)), 2);
    return x > 0 ? t : (int16_t)-t;
}
