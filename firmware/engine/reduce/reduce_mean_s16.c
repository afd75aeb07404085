/* MEAN, int16. */
#include "fixed_point.h"
#include "reduce.h"

void ar_reduce_mean_s16(const ar_reduce_mean_params *p)
{
    const int16_t *input = p->input;
    int16_t *out = p->output;
    ar_walk kept = {0};

    for (uint32_t k = 0; k < p->kept.count; k++) {
        const int16_t *in = input + kept.offset;
        ar_walk folded = {0};
        uint32_t sum = (uint32_t)p->sum_offset;
        for (uint32_t i = 0; i < p->folded.count; i++) {
            const int32_t value = in[folded.offset];
            sum += (uint32_t)value;
            ar_walk_next(&folded, &p->folded);
        }
        const int32_t scaled = ar_requant((int32_t)sum, p->multiplier, p->shift) + p->output_offset;
        *out++ = (int16_t)ar_clamp(scaled, p->low, p->high);
        ar_walk_next(&kept, &p->kept);
    }
}
