/* ADD and SUB, int16. */
#include "add.h"

void ar_add_s16(const ar_add_params *p)
{
    int16_t *out = p->output;
    ar_rows rows;
    ar_rows_start(&rows, p->input1, p->input2, 0);
    do {
        const int16_t *a = rows.in[0];
        const int16_t *b = rows.in[1];
        for (uint32_t i = p->shape.inner; i != 0; i--) {
            *out++ = (int16_t)ar_add_element(p, *a, *b, 15);
            a += p->shape.inner_step[0];
            b += p->shape.inner_step[1];
        }
    } while (ar_rows_next(&rows, &p->shape));
}
