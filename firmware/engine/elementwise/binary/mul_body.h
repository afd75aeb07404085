/* The body of MUL. The file that includes it defines two macros: MUL (the name of the function) and VALUE (the type of
 * an element). */
#include "fixed_point.h"
#include "mul.h"

void MUL(const ar_mul_params *p)
{
    VALUE *out = p->output;
    ar_rows rows;
    ar_rows_start(&rows, p->input1, p->input2, 0);
    do {
        const VALUE *a = rows.in[0];
        const VALUE *b = rows.in[1];
        for (uint32_t i = p->shape.inner; i != 0; i--) {
            const int32_t product = (*a + p->offset1) * (*b + p->offset2);
            const int32_t scaled = ar_requant(product, p->multiplier, p->shift) + p->output_offset;
            *out++ = (VALUE)ar_clamp(scaled, p->act_min, p->act_max);
            a += p->shape.inner_step[0];
            b += p->shape.inner_step[1];
        }
    } while (ar_rows_next(&rows, &p->shape));
}
