/* BATCH_MATMUL: out[b][i][j] = sum over k of lhs[b][i][k] * rhs[b][k][j].
 *
 * Strides in elements describe how the operands are stored. So an operand can be transposed, or broadcast (stride 0).
 */
#ifndef ARENITE_BATCH_MATMUL_H
#define ARENITE_BATCH_MATMUL_H

#include <stdint.h>

typedef struct {
    const void *data;
    uint32_t batch[3];     /* strides of the three batch dimensions */
    uint32_t outer, inner; /* outer: stride along i (lhs) or j (rhs); inner: stride along k */
    int16_t offset;        /* minus the zero point; 0 for int16 */
} ar_matmul_operand;

typedef struct {
    ar_matmul_operand lhs, rhs;
    void *output;
    int32_t multiplier;         /* of ar_requant for int8, of ar_requant_wide for int16 */
    uint16_t batch[3];          /* sizes of the three batch dimensions */
    uint16_t rows, cols, depth; /* numbers of values of i, j and k */
    int16_t output_offset;      /* the output's zero point */
    int8_t shift;
    uint8_t rhs_int8; /* only for ar_batch_matmul_s16: 1 if rhs has int8 elements, 0 for int16 */
} ar_batch_matmul_params;

void ar_batch_matmul_s8(const ar_batch_matmul_params *p);
void ar_batch_matmul_s16(const ar_batch_matmul_params *p);

#endif
