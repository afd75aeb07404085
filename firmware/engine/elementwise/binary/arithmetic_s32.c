/* ADD, SUB, MUL and SQUARED_DIFFERENCE of int32 values without quantization. */
#include "arithmetic_s32.h"

#include "fixed_point.h"

static uint32_t combine(uint32_t a, uint32_t b, uint32_t operation)
{
    switch (operation) {
    case AR_ADD_S32:
        return a + b;
    case AR_SUB_S32:
        return a - b;
    case AR_MUL_S32:
        return a * b;
    default:
        return (a - b) * (a - b);
    }
}

void ar_arithmetic_s32(const ar_arithmetic_s32_params *p)
{
    int32_t *out = p->output;
    ar_rows rows;
    ar_rows_start(&rows, p->input1, p->input2, 0);
    do {
        const int32_t *a = rows.in[0];
        const int32_t *b = rows.in[1];
        for (uint32_t i = p->shape.inner; i != 0; i--) {
            const int32_t result = (int32_t)combine((uint32_t)*a, (uint32_t)*b, p->operation);
            *out++ = ar_clamp(result, p->act_min, p->act_max);
            a += p->shape.inner_step[0];
            b += p->shape.inner_step[1];
        }
    } while (ar_rows_next(&rows, &p->shape));
}
