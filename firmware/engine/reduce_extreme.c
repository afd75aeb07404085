/* REDUCE_MAX, REDUCE_MIN, REDUCE_ANY, REDUCE_ALL. */
#include "reduce.h"

static int32_t load(const void *data, uint32_t index, uint32_t element_bytes)
{
    if (element_bytes == 1) {
        return ((const int8_t *)data)[index];
    }
    if (element_bytes == 2) {
        return ((const int16_t *)data)[index];
    }
    return ((const int32_t *)data)[index];
}

static void store(void *data, uint32_t index, uint32_t element_bytes, int32_t value)
{
    if (element_bytes == 1) {
        ((int8_t *)data)[index] = (int8_t)value;
    } else if (element_bytes == 2) {
        ((int16_t *)data)[index] = (int16_t)value;
    } else {
        ((int32_t *)data)[index] = value;
    }
}

void ar_reduce_extreme(const ar_reduce_params *p)
{
    ar_walk kept = {0};

    for (uint32_t k = 0; k < p->kept.count; k++) {
        ar_walk folded = {0};
        int32_t best = load(p->input, kept.offset, p->element_bytes);
        for (uint32_t i = 0; i < p->folded.count; i++) {
            const int32_t value = load(p->input, kept.offset + folded.offset, p->element_bytes);
            if (p->fold == AR_FOLD_MAX ? value > best : value < best) {
                best = value;
            }
            ar_walk_next(&folded, &p->folded);
        }
        store(p->output, k, p->element_bytes, best);
        ar_walk_next(&kept, &p->kept);
    }
}
