/* DIV of quantized inputs. */
#include "divide.h"

#include "bits.h"
#include "element.h"
#include "exp_fixed.h"
#include "fixed_point.h"

/* Returns a / b in steps of the output, for inputs without their zero points. Returns 0 if b is 0. */
static int32_t divide(const ar_divide_scaled_params *p, int32_t a, int32_t b)
{
    if (b == 0) {
        return 0;
    }
    if (b < 0) {
        a = -a;
        b = -b;
    }
    /* The divisor is (1 + f) * 2^(31 - zeros) with f in [0, 1). `reciprocal` is 1 / (1 + f) in Q0.31. */
    const int zeros = ar_clz((uint32_t)b);
    const int32_t reciprocal = ar_one_over_one_plus((int32_t)(((uint32_t)b << zeros) - 0x80000000u));
    /* Shift the dividend to the left as far as possible. */
    const int headroom = a == 0 ? 31 : ar_clz(a > 0 ? (uint32_t)a : ~(uint32_t)a) - 1;
    const int32_t quotient = ar_high_mul((int32_t)((uint32_t)a << headroom), reciprocal);
    return ar_round_shift(ar_high_mul(quotient, p->multiplier), 31 - zeros + headroom - p->shift);
}

void ar_divide_scaled(const ar_divide_scaled_params *p)
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
            const int32_t quotient = divide(p, ar_load(a, type) + p->offset1, ar_load(b, type) + p->offset2);
            ar_store(out, type, ar_clamp(quotient + p->output_offset, p->base.act_min, p->base.act_max));
            a += size * shape->inner_step[0];
            b += size * shape->inner_step[1];
            out += size;
        }
    } while (ar_rows_next(&rows, shape));
}
