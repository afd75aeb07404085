/* LOGICAL_AND, LOGICAL_OR and LOGICAL_NOT. */
#include "logical.h"

void ar_logical(const ar_logical_params *p)
{
    uint8_t *out = p->output;
    ar_rows rows;
    ar_rows_start(&rows, p->input1, p->input2, 0);
    do {
        const uint8_t *a = rows.in[0];
        const uint8_t *b = rows.in[1];
        for (uint32_t i = p->shape.inner; i != 0; i--) {
            *out++ = (uint8_t)((p->truth >> (2 * (*a != 0) + (*b != 0))) & 1);
            a += p->shape.inner_step[0];
            b += p->shape.inner_step[1];
        }
    } while (ar_rows_next(&rows, &p->shape));
}
