/* Comparisons of quantized inputs with different scales. (compare.c compares values without scaling them.) */
#include "compare.h"

#include "element.h"
#include "fixed_point.h"

/* Returns the scaled value. Like LiteRT it first shifts the value left by eight bits. Another shift would round
 * differently, and the rounding decides which values are equal. */
static int32_t scaled(int32_t value, int32_t multiplier, int right)
{
    return ar_round_shift(ar_high_mul(value * 256, multiplier), right);
}

void ar_compare_scaled(const ar_compare_scaled_params *p)
{
    const ar_broadcast *shape = &p->base.shape;
    const uint32_t type = p->base.type;
    const uint32_t size = ar_element_size(type);
    uint8_t *out = p->base.output;
    ar_rows rows;
    ar_rows_start(&rows, p->base.input1, p->base.input2, 0);
    do {
        const uint8_t *a = rows.in[0];
        const uint8_t *b = rows.in[1];
        for (uint32_t i = shape->inner; i != 0; i--) {
            const int32_t x = scaled(ar_load(a, type) + p->offset1, p->multiplier1, p->shift1);
            const int32_t y = scaled(ar_load(b, type) + p->offset2, p->multiplier2, p->shift2);
            *out++ = ar_accept(p->base.accept, x, y);
            a += size * shape->inner_step[0];
            b += size * shape->inner_step[1];
        }
    } while (ar_rows_next(&rows, shape));
}
