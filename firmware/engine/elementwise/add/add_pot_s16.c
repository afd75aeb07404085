/* ADD and SUB, int16, if all scales are powers of two. */
#include "add.h"

void ar_add_pot_s16(const ar_add_params *p)
{
    int16_t *out = p->output;
    ar_rows rows;
    ar_rows_start(&rows, p->input1, p->input2, 0);
    do {
        const int16_t *a = rows.in[0];
        const int16_t *b = rows.in[1];
        for (uint32_t i = p->shape.inner; i != 0; i--) {
            const int32_t sum = ar_round_shift(*a, p->shift1) + ar_round_shift(*b, p->shift2) * p->sign2;
            *out++ = (int16_t)ar_clamp(sum, p->act_min, p->act_max);
            a += p->shape.inner_step[0];
            b += p->shape.inner_step[1];
        }
    } while (ar_rows_next(&rows, &p->shape));
}
