/* ADD and SUB, int8. The left shift is that of LiteRT. */
#define ADD ar_add_s8
#define VALUE int8_t
#define LEFT_SHIFT 20

#include "add_body.h"

void ar_add_s8_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_add_params *p = params;
    for (uint32_t i = 0; i < p->shape.inner; i++) {
        out[i] = (int8_t)ar_add_element(p, rows[0][i], rows[1][i], LEFT_SHIFT);
    }
}
