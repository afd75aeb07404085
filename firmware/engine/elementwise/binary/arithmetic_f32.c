/* ADD, SUB, MUL and DIV of float32 values. */
#include "arithmetic_f32.h"

static float combine(float a, float b, uint32_t operation)
{
    switch (operation) {
    case AR_ADD_F32:
        return a + b;
    case AR_SUB_F32:
        return a - b;
    case AR_MUL_F32:
        return a * b;
    default:
        return a / b;
    }
}

void ar_arithmetic_f32(const ar_arithmetic_f32_params *p)
{
    float *out = p->output;
    ar_rows rows;
    ar_rows_start(&rows, p->input1, p->input2, 0);
    do {
        const float *a = rows.in[0];
        const float *b = rows.in[1];
        for (uint32_t i = p->shape.inner; i != 0; i--) {
            const float result = combine(*a, *b, p->operation);
            const float raised = result < p->act_min ? p->act_min : result;
            *out++ = p->act_max < raised ? p->act_max : raised;
            a += p->shape.inner_step[0];
            b += p->shape.inner_step[1];
        }
    } while (ar_rows_next(&rows, &p->shape));
}
