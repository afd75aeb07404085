/* L2_NORMALIZATION, int8. */
#include "l2_normalization.h"

#include "bits.h"
#include "exp_fixed.h"
#include "fixed_point.h"

/* 1 / sqrt(x) as multiplier * 2^(-right - 31), as TFLite's GetInvSqrtQuantizedMultiplierExp. */
static int32_t inverse_sqrt(int32_t x, int *right)
{
    if (x <= 1) {
        *right = 0;
        return INT32_MAX;
    }
    int shift = 11;
    while (x >= 1 << 29) {
        x /= 4;
        shift++;
    }
    const int pairs = (ar_clz((uint32_t)x) - 1) / 2 - 1;
    shift -= pairs;
    x <<= 2 * pairs;

    /* Newton's iteration in Q3.28, started from 1: y = y * (3/2 - x/2 * y^2). */
    const int32_t half = ar_round_shift(x >> 1, 1);
    const int32_t three_halves = (1 << 28) + (1 << 27);
    int32_t y = 1 << 28;
    for (int k = 0; k < 5; k++) {
        const int32_t cube = ar_shift_saturating(ar_high_mul(ar_high_mul(y, y), y), 6);
        y = ar_shift_saturating(ar_high_mul(three_halves, y) - ar_high_mul(half, cube), 3);
    }
    y = ar_high_mul(y, 1518500250); /* sqrt(1/2) */
    if (shift < 0) {
        y = (int32_t)((uint32_t)y << -shift);
        shift = 0;
    }
    *right = shift;
    return y;
}

void ar_l2_normalization_s8(const ar_l2_normalization_params *p)
{
    const int8_t *in = p->input;
    int8_t *out = p->output;

    for (uint32_t r = 0; r < p->rows; r++, in += p->depth, out += p->depth) {
        int32_t sum = 0;
        for (int32_t i = 0; i < p->depth; i++) {
            const int32_t value = in[i] + p->input_offset;
            sum += value * value;
        }
        int right;
        const int32_t multiplier = inverse_sqrt(sum, &right);
        for (int32_t i = 0; i < p->depth; i++) {
            const int32_t value = ar_requant(in[i] + p->input_offset, multiplier, 7 - right);
            out[i] = (int8_t)ar_clamp(value, INT8_MIN, INT8_MAX);
        }
    }
}
