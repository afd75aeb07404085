/* EQUAL, LESS and the other comparisons of integers without scaling. */
#include "compare.h"

#include "element.h"

void ar_compare(const ar_compare_params *p)
{
    const uint32_t size = ar_element_size(p->type);
    uint8_t *out = p->output;
    ar_rows rows;
    ar_rows_start(&rows, p->input1, p->input2, 0);
    do {
        const uint8_t *a = rows.in[0];
        const uint8_t *b = rows.in[1];
        for (uint32_t i = p->shape.inner; i != 0; i--) {
            *out++ = ar_accept(p->accept, ar_load(a, p->type), ar_load(b, p->type));
            a += size * p->shape.inner_step[0];
            b += size * p->shape.inner_step[1];
        }
    } while (ar_rows_next(&rows, &p->shape));
}
