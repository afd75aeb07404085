/* BATCH_MATMUL of int8, with int32 accumulators that are scaled with two roundings (ar_requant). */
#include "batch_matmul.h"

#include "fixed_point.h"

/* Returns the output for one row of lhs and one column of rhs. `lhs` and `rhs` are the addresses of their first
 * elements. */
static int32_t product(const ar_batch_matmul_params *p, const int8_t *lhs, const int8_t *rhs)
{
    int32_t acc = 0;
    for (int32_t k = 0; k < p->depth; k++, lhs += p->lhs.inner, rhs += p->rhs.inner) {
        acc += (*lhs + p->lhs.offset) * (*rhs + p->rhs.offset);
    }
    return ar_clamp(ar_requant(acc, p->multiplier, p->shift) + p->output_offset, INT8_MIN, INT8_MAX);
}

void ar_batch_matmul_s8(const ar_batch_matmul_params *p)
{
    int8_t *out = p->output;
    for (uint32_t b0 = 0; b0 < p->batch[0]; b0++) {
        for (uint32_t b1 = 0; b1 < p->batch[1]; b1++) {
            for (uint32_t b2 = 0; b2 < p->batch[2]; b2++) {
                const int8_t *lhs = p->lhs.data;
                const int8_t *rhs = p->rhs.data;
                lhs += b0 * p->lhs.batch[0] + b1 * p->lhs.batch[1] + b2 * p->lhs.batch[2];
                rhs += b0 * p->rhs.batch[0] + b1 * p->rhs.batch[1] + b2 * p->rhs.batch[2];
                for (uint32_t i = 0; i < p->rows; i++) {
                    for (uint32_t j = 0; j < p->cols; j++) {
                        *out++ = (int8_t)product(p, lhs + i * p->lhs.outer, rhs + j * p->rhs.outer);
                    }
                }
            }
        }
    }
}
