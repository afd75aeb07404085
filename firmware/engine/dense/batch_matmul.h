/* BATCH_MATMUL: out[b][i][j] = sum over k of lhs[b][i][k] * rhs[b][k][j].
 *
 * Strides, in elements, express transposed operands and broadcasting (stride 0).
 */
#ifndef ARENITE_BATCH_MATMUL_H
#define ARENITE_BATCH_MATMUL_H

#include <stdint.h>

typedef struct {
    const void *data;
    uint32_t batch[3];     /* strides of the three batch dimensions */
    uint32_t outer, inner; /* strides along i (lhs) or j (rhs), and along k */
    int16_t offset;        /* minus the zero point; 0 for int16 */
} ar_matmul_operand;

typedef struct {
    ar_matmul_operand lhs, rhs;
    void *output;
    int32_t multiplier; /* with 16 bits for int16 */
    uint16_t batch[3];
    uint16_t rows, cols, depth;
    int16_t output_offset;
    int8_t shift;
    uint8_t rhs_int8; /* int16 kernel: rhs has int8 elements */
} ar_batch_matmul_params;

void ar_batch_matmul_s8(const ar_batch_matmul_params *p);
void ar_batch_matmul_s16(const ar_batch_matmul_params *p);

#endif
