/* REDUCE_MAX, REDUCE_MIN, REDUCE_ANY and REDUCE_ALL. */
#include "element.h"
#include "reduce.h"

void ar_reduce_extreme(const ar_reduce_params *p)
{
    const uint32_t size = ar_element_size(p->type);
    const uint8_t *input = p->input;
    uint8_t *out = p->output;
    ar_walk kept = {0};

    for (uint32_t k = 0; k < p->kept.count; k++) {
        const uint8_t *in = input + kept.offset * size;
        ar_walk folded = {0};
        int32_t best = ar_load(in, p->type);
        for (uint32_t i = 0; i < p->folded.count; i++) {
            const int32_t value = ar_load(in + folded.offset * size, p->type);
            if (p->fold == AR_FOLD_MAX ? value > best : value < best) {
                best = value;
            }
            ar_walk_next(&folded, &p->folded);
        }
        ar_store(out, p->type, best);
        out += size;
        ar_walk_next(&kept, &p->kept);
    }
}
