/* SUM, REDUCE_PROD and MEAN of int32. */
#include "reduce.h"

void ar_reduce_s32(const ar_reduce_params *p)
{
    const int32_t *input = p->input;
    int32_t *out = p->output;
    ar_walk kept = {0};

    for (uint32_t k = 0; k < p->kept.count; k++) {
        const int32_t *in = input + kept.offset;
        ar_walk folded = {0};
        uint32_t product = 1;
        int64_t sum = 0;
        for (uint32_t i = 0; i < p->folded.count; i++) {
            sum += in[folded.offset];
            product *= (uint32_t)in[folded.offset];
            ar_walk_next(&folded, &p->folded);
        }
        if (p->fold == AR_FOLD_MEAN) {
            sum /= (int64_t)p->folded.count;
        }
        *out++ = p->fold == AR_FOLD_PROD ? (int32_t)product : (int32_t)(uint32_t)(uint64_t)sum;
        ar_walk_next(&kept, &p->kept);
    }
}
