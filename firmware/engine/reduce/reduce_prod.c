/* REDUCE_PROD, int8 and int16. */
#include "element.h"
#include "fixed_point.h"
#include "reduce.h"

void ar_reduce_prod(const ar_reduce_prod_params *p)
{
    const uint32_t size = ar_element_size(p->type);
    const int32_t high = p->type == AR_INT16 ? INT16_MAX : INT8_MAX;
    const uint8_t *input = p->input;
    uint8_t *out = p->output;
    ar_walk kept = {0};

    for (uint32_t k = 0; k < p->kept.count; k++) {
        const uint8_t *in = input + kept.offset * size;
        ar_walk folded = {0};
        int32_t product = 0;
        for (uint32_t i = 0; i < p->folded.count; i++) {
            const int32_t value = ar_load(in + folded.offset * size, p->type) + p->input_offset;
            product = i == 0 ? value : ar_requant_wide((int64_t)product * value, p->multiplier, p->shift);
            ar_walk_next(&folded, &p->folded);
        }
        const int32_t scaled = ar_requant_wide(product, p->multiplier, p->shift);
        const int32_t result = (int32_t)((uint32_t)scaled + (uint32_t)p->output_offset);
        ar_store(out, p->type, ar_clamp(result, -high - 1, high));
        out += size;
        ar_walk_next(&kept, &p->kept);
    }
}
