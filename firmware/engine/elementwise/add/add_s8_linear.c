/* ADD and SUB, int8, as the linear function of add_linear.h. */
#include "add_linear.h"

#include "affine_requant.h"

void ar_add_s8_linear_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_add_linear_params *p = params;
    const int32_t m1 = p->multiplier1, m2 = p->multiplier2, constant = p->constant;
    const int shift = p->shift;
    const int8_t *a = rows[0], *b = rows[1];
    const int8_t *end = out + p->count;

    for (int8_t *o = out; o != end;) {
        *o++ = (int8_t)ar_saturate_s8((*a++ * m1 + *b++ * m2 + constant) >> shift);
    }
    ar_clamp_s8(out, (int32_t)p->count, p->act_min, p->act_max);
}

void ar_add_s8_linear(const ar_add_linear_params *p)
{
    const int8_t *const rows[2] = {p->input1, p->input2};
    ar_add_s8_linear_row(p, rows, p->output);
}
