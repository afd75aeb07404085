/* The body of ADD and SUB. The file that includes it defines three macros: ADD (the name of the function), VALUE (the
 * type of an element) and LEFT_SHIFT (the number of bits by which both operands are shifted left before they are
 * scaled). */
#include "add.h"

void ADD(const ar_add_params *p)
{
    VALUE *out = p->output;
    ar_rows rows;
    ar_rows_start(&rows, p->input1, p->input2, 0);
    do {
        const VALUE *a = rows.in[0];
        const VALUE *b = rows.in[1];
        for (uint32_t i = p->shape.inner; i != 0; i--) {
            *out++ = (VALUE)ar_add_element(p, *a, *b, LEFT_SHIFT);
            a += p->shape.inner_step[0];
            b += p->shape.inner_step[1];
        }
    } while (ar_rows_next(&rows, &p->shape));
}
