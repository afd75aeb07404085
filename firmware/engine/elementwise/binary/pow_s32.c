/* POW of int32. */
#include "pow_s32.h"

/* Returns base^exponent modulo 2^32. Sets `overflow` to 1 if the power does not fit in int32. */
static int32_t power(int32_t base, int32_t exponent, int *overflow)
{
    uint32_t result = 1;
    uint32_t square = (uint32_t)base;
    int too_large = 0; /* 1 after `square` has wrapped */
    while (exponent > 0) {
        if (exponent & 1) {
            const int64_t product = (int64_t)(int32_t)result * (int32_t)square;
            *overflow |= too_large || product < INT32_MIN || product > INT32_MAX;
            result *= square;
        }
        exponent >>= 1;
        const int64_t next = (int64_t)(int32_t)square * (int32_t)square;
        too_large |= next > INT32_MAX;
        square *= square;
    }
    return (int32_t)result;
}

void ar_pow_s32(const ar_pow_s32_params *p)
{
    int32_t *out = p->output;
    ar_rows rows;
    ar_rows_start(&rows, p->input1, p->input2, 0);
    do {
        const int32_t *base = rows.in[0];
        const int32_t *exponent = rows.in[1];
        for (uint32_t i = p->shape.inner; i != 0; i--) {
            int overflow = 0;
            const int32_t result = power(*base, *exponent, &overflow);
            *out++ = overflow && !p->wraps ? INT32_MIN : result;
            base += p->shape.inner_step[0];
            exponent += p->shape.inner_step[1];
        }
    } while (ar_rows_next(&rows, &p->shape));
}
