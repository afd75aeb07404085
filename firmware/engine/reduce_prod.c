/* REDUCE_PROD, int8 and int16. */
#include "fixed_point.h"
#include "reduce.h"

/* x * multiplier * 2^(shift - 15), rounded once, the low 32 bits. */
static int32_t scale(int64_t x, int32_t multiplier, int shift)
{
    const int total = 15 - shift;
    const uint64_t product = (uint64_t)x * (uint64_t)multiplier + ((uint64_t)1 << (total - 1));
    return (int32_t)((int64_t)product >> total);
}

void ar_reduce_prod(const ar_reduce_prod_params *p)
{
    const int8_t *in8 = p->input;
    const int16_t *in16 = p->input;
    const int wide = p->element_bytes == 2;
    ar_walk kept = {0};

    for (uint32_t k = 0; k < p->kept.count; k++) {
        ar_walk folded = {0};
        int32_t product = 0;
        for (uint32_t i = 0; i < p->folded.count; i++) {
            const uint32_t at = kept.offset + folded.offset;
            const int32_t value = (wide ? in16[at] : in8[at]) + p->input_offset;
            product = i == 0 ? value : scale((int64_t)product * value, p->multiplier, p->shift);
            ar_walk_next(&folded, &p->folded);
        }
        const int32_t result =
            (int32_t)((uint32_t)scale(product, p->multiplier, p->shift) + (uint32_t)p->output_offset);
        if (wide) {
            ((int16_t *)p->output)[k] = (int16_t)ar_clamp(result, -32768, 32767);
        } else {
            ((int8_t *)p->output)[k] = (int8_t)ar_clamp(result, -128, 127);
        }
        ar_walk_next(&kept, &p->kept);
    }
}
