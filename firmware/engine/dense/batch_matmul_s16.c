/* BATCH_MATMUL of int16 and int16, or of int16 and int8, with int64 accumulators. */
#include "batch_matmul.h"

#include "fixed_point.h"

/* Returns the output for one row of lhs and one column of rhs. `lhs` and `rhs` are the offsets of their first
 * elements. */
static int32_t product(const ar_batch_matmul_params *p, uint32_t lhs, uint32_t rhs)
{
    const int16_t *left = p->lhs.data;
    const int16_t *right = p->rhs.data;
    const int8_t *right8 = p->rhs.data;
    int64_t acc = 0;
    for (int32_t k = 0; k < p->depth; k++, lhs += p->lhs.inner, rhs += p->rhs.inner) {
        acc += left[lhs] * (p->rhs_int8 ? right8[rhs] : right[rhs]);
    }
    return ar_clamp(ar_requant_wide(acc, p->multiplier, p->shift), INT16_MIN, INT16_MAX);
}

void ar_batch_matmul_s16(const ar_batch_matmul_params *p)
{
    int16_t *out = p->output;
    for (uint32_t b0 = 0; b0 < p->batch[0]; b0++) {
        for (uint32_t b1 = 0; b1 < p->batch[1]; b1++) {
            for (uint32_t b2 = 0; b2 < p->batch[2]; b2++) {
                const uint32_t lhs = b0 * p->lhs.batch[0] + b1 * p->lhs.batch[1] + b2 * p->lhs.batch[2];
                const uint32_t rhs = b0 * p->rhs.batch[0] + b1 * p->rhs.batch[1] + b2 * p->rhs.batch[2];
                for (uint32_t i = 0; i < p->rows; i++) {
                    for (uint32_t j = 0; j < p->cols; j++) {
                        *out++ = (int16_t)product(p, lhs + i * p->lhs.outer, rhs + j * p->rhs.outer);
                    }
                }
            }
        }
    }
}
