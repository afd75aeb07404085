/* LEAKY_RELU and ABS of int16. */
#include "leaky_relu.h"

#include "fixed_point.h"

void ar_leaky_relu_s16(const ar_leaky_relu_params *p)
{
    const int16_t *in = p->input;
    int16_t *out = p->output;
    for (uint32_t i = 0; i < p->count; i++) {
        const int32_t x = in[i];
        int32_t y;
        if (x >= 0) {
            y = ar_requant(x, p->multiplier, p->shift);
        } else {
            y = ar_requant(p->magnitude ? -x : x, p->negative_multiplier, p->negative_shift) * p->sign;
        }
        out[i] = (int16_t)ar_clamp(y, INT16_MIN, INT16_MAX);
    }
}
