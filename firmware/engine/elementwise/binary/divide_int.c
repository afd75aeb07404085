/* DIV, FLOOR_DIV and FLOOR_MOD of integers without quantization. */
#include "divide.h"

#include "element.h"
#include "fixed_point.h"

/* Returns the result of `operation` (AR_DIV ...) for a and b; 0 if b is 0. */
static int32_t divide(int32_t a, int32_t b, uint32_t operation)
{
    if (b == 0) {
        return 0;
    }
    if (b == -1) { /* handled separately, because INT32_MIN / -1 overflows */
        return operation == AR_FLOOR_MOD ? 0 : (int32_t)(0u - (uint32_t)a);
    }
    const int32_t quotient = a / b;
    const int32_t remainder = a - quotient * b;
    /* 1 if the quotient was rounded up, because the division truncates towards zero. */
    const int32_t is_truncated_up = remainder != 0 && (remainder < 0) != (b < 0);
    if (operation == AR_FLOOR_MOD) {
        return remainder + (is_truncated_up ? b : 0);
    }
    return operation == AR_FLOOR_DIV ? quotient - is_truncated_up : quotient;
}

void ar_divide_int(const ar_divide_int_params *p)
{
    const uint32_t size = ar_element_size(p->type);
    uint8_t *out = p->output;
    ar_rows rows;
    ar_rows_start(&rows, p->input1, p->input2, 0);
    do {
        const uint8_t *a = rows.in[0];
        const uint8_t *b = rows.in[1];
        for (uint32_t i = p->shape.inner; i != 0; i--) {
            const int32_t result = divide(ar_load(a, p->type), ar_load(b, p->type), p->operation);
            ar_store(out, p->type, ar_clamp(result, p->act_min, p->act_max));
            a += size * p->shape.inner_step[0];
            b += size * p->shape.inner_step[1];
            out += size;
        }
    } while (ar_rows_next(&rows, &p->shape));
}
