/* MINIMUM and MAXIMUM of integers. */
#include "minimum_maximum.h"

#include "element.h"

void ar_minimum_maximum(const ar_minimum_maximum_params *p)
{
    const uint32_t size = ar_element_size(p->type);
    uint8_t *out = p->output;
    ar_rows rows;
    ar_rows_start(&rows, p->input1, p->input2, 0);
    do {
        const uint8_t *a = rows.in[0];
        const uint8_t *b = rows.in[1];
        for (uint32_t i = p->shape.inner; i != 0; i--) {
            const int32_t x = ar_load(a, p->type);
            const int32_t y = ar_load(b, p->type);
            ar_store(out, p->type, (x > y) == p->maximum ? x : y);
            a += size * p->shape.inner_step[0];
            b += size * p->shape.inner_step[1];
            out += size;
        }
    } while (ar_rows_next(&rows, &p->shape));
}
