/* L2_NORMALIZATION, int8. */
#include "l2_normalization.h"

#include "fixed_point.h"
#include "inv_sqrt.h"

void ar_l2_normalization_s8(const ar_l2_normalization_params *p)
{
    const int8_t *in = p->input;
    int8_t *out = p->output;

    for (uint32_t r = 0; r < p->rows; r++, in += p->depth, out += p->depth) {
        int32_t sum = 0;
        for (int32_t i = 0; i < p->depth; i++) {
            const int32_t value = in[i] + p->input_offset;
            sum += value * value;
        }
        int right;
        const int32_t multiplier = ar_inv_sqrt(sum, &right);
        for (int32_t i = 0; i < p->depth; i++) {
            /* The output's scale is 2^-7. */
            const int32_t value = ar_requant(in[i] + p->input_offset, multiplier, 7 - right);
            out[i] = (int8_t)ar_clamp(value, INT8_MIN, INT8_MAX);
        }
    }
}
