/* SQUARED_DIFFERENCE, int8. Like LiteRT it first shifts both inputs left by seven bits. */
#include "add.h"

void ar_squared_difference_s8(const ar_add_params *p)
{
    int8_t *out = p->output;
    ar_rows rows;
    ar_rows_start(&rows, p->input1, p->input2, 0);
    do {
        const int8_t *a = rows.in[0];
        const int8_t *b = rows.in[1];
        for (uint32_t i = p->shape.inner; i != 0; i--) {
            const int32_t a_scaled = ar_scale_down((*a + p->offset1) * 128, p->multiplier1, p->shift1);
            const int32_t b_scaled = ar_scale_down((*b + p->offset2) * 128, p->multiplier2, p->shift2);
            const int32_t difference = a_scaled - b_scaled; /* at most +-255 * 128, so its square fits */
            const int32_t scaled =
                ar_scale_down(difference * difference, p->output_multiplier, p->output_shift);
            *out++ = (int8_t)ar_clamp(scaled + p->output_offset, p->act_min, p->act_max);
            a += p->shape.inner_step[0];
            b += p->shape.inner_step[1];
        }
    } while (ar_rows_next(&rows, &p->shape));
}
