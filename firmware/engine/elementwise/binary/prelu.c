/* PRELU, int8 and int16. */
#include "prelu.h"

#include "element.h"
#include "fixed_point.h"

void ar_prelu(const ar_prelu_params *p)
{
    const uint32_t size = ar_element_size(p->type);
    const int32_t limit = p->type == AR_INT8 ? INT8_MAX : INT16_MAX;
    uint8_t *out = p->output;
    ar_rows rows;
    ar_rows_start(&rows, p->input, p->alpha, 0);
    do {
        const uint8_t *in = rows.in[0];
        const int8_t *alpha = rows.in[1];
        for (uint32_t i = p->shape.inner; i != 0; i--) {
            const int32_t x = ar_load(in, p->type) + p->input_offset;
            const int32_t scaled =
                x >= 0 ? ar_requant(x, p->multiplier, p->shift)
                       : ar_requant(x * (*alpha + p->alpha_offset), p->alpha_multiplier, p->alpha_shift);
            ar_store(out, p->type, ar_clamp(scaled + p->output_offset, -limit - 1, limit));
            in += size * p->shape.inner_step[0];
            alpha += p->shape.inner_step[1];
            out += size;
        }
    } while (ar_rows_next(&rows, &p->shape));
}
