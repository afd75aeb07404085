/* ADD and SUB, int8. */
#include "add.h"

void ar_add_s8(const ar_add_params *p)
{
    int8_t *out = p->output;
    ar_rows rows;
    ar_rows_start(&rows, p->input1, p->input2, 0);
    do {
        const int8_t *a = rows.in[0];
        const int8_t *b = rows.in[1];
        for (uint32_t i = p->shape.inner; i != 0; i--) {
            *out++ = (int8_t)ar_add_element(p, *a, *b, 20);
            a += p->shape.inner_step[0];
            b += p->shape.inner_step[1];
        }
    } while (ar_rows_next(&rows, &p->shape));
}

void ar_add_s8_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_add_params *p = params;
    for (uint32_t i = 0; i < p->shape.inner; i++) {
        out[i] = (int8_t)ar_add_element(p, rows[0][i], rows[1][i], 20);
    }
}
