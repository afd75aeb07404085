/* The reciprocal square root of an integer, see inv_sqrt.h. */
#include "inv_sqrt.h"

#include "bits.h"
#include "exp_fixed.h"
#include "fixed_point.h"

int32_t ar_inv_sqrt(int32_t x, int *right_shift)
{
    if (x <= 1) {
        *right_shift = 0;
        return INT32_MAX;
    }
    /* Scale x by a power of four into [2^27, 2^29). `shift` becomes the right shift of the result. For an x that needs
     * no scaling, the code below computes 2^42 / sqrt(x), so the shift starts at 42 - 31. */
    int shift = 11;
    while (x >= 1 << 29) {
        x /= 4;
        shift++;
    }
    const int pairs = (ar_clz((uint32_t)x) - 1) / 2 - 1;
    x <<= 2 * pairs;
    shift -= pairs;

    /* Newton's iteration y = 3/2 y - x/2 y^3 starts from y = 1. y is in Q3.28. */
    const int32_t half_x = ar_round_shift(x >> 1, 1);
    const int32_t three_halves = (1 << 28) + (1 << 27);
    int32_t y = 1 << 28;
    for (int k = 0; k < 5; k++) {
        const int32_t cube = ar_shift_saturating(ar_high_mul(ar_high_mul(y, y), y), 6);
        y = ar_shift_saturating(ar_high_mul(three_halves, y) - ar_high_mul(half_x, cube), 3);
    }
    y = ar_high_mul(y, 1518500250); /* sqrt(1/2) in Q0.31 */
    if (shift < 0) {
        y = (int32_t)((uint32_t)y << -shift);
        shift = 0;
    }
    *right_shift = shift;
    return y;
}
