/* Computes keys, which are integers in the same order as the scores, for every type of output. */
#include "post.h"

/* Each type has its own loop, and a further loop for adjacent elements, so that a compiler can vectorize them. */
#define KEYS(type, key)                              \
    {                                                \
        const type *at = (const type *)data + first; \
        if (step == 1) {                             \
            for (uint32_t i = 0; i < count; i++) {   \
                keys[i] = key(at, i);                \
            }                                        \
        } else {                                     \
            for (uint32_t i = 0; i < count; i++) {   \
                keys[i] = key(at, i * step);         \
            }                                        \
        }                                            \
    }
#define WHOLE(at, i) (at)[i]
#define REAL(at, i) ar_key(at, AR_POST_FLOAT32, i)

void ar_keys(const void *data, uint32_t dtype, uint32_t first, uint32_t step, uint32_t count, int32_t *keys)
{
    if (dtype == AR_POST_INT8) {
        KEYS(int8_t, WHOLE)
    } else if (dtype == AR_POST_UINT8) {
        KEYS(uint8_t, WHOLE)
    } else if (dtype == AR_POST_INT16) {
        KEYS(int16_t, WHOLE)
    } else {
        KEYS(float, REAL)
    }
}

/* Finds the best field of one row whose fields are adjacent, and writes its number and its key. */
static void best_of_row(const void *data, uint32_t dtype, uint32_t at, uint32_t first, uint32_t last,
                        int32_t *key, uint32_t *best)
{
    int32_t keys[AR_POST_BLOCK];
    *best = first;
    for (uint32_t start = first; start < last; start += AR_POST_BLOCK) {
        const uint32_t block = last - start < AR_POST_BLOCK ? last - start : AR_POST_BLOCK;
        ar_keys(data, dtype, at + start, 1, block, keys);
        *key = start == first ? keys[0] : *key;
        for (uint32_t i = 0; i < block; i++) {
            if (keys[i] > *key) {
                *key = keys[i];
                *best = start + i;
            }
        }
    }
}

void ar_best(const void *data, uint32_t dtype, const ar_layout *layout, uint32_t start, uint32_t count,
             uint32_t first, uint32_t last, int32_t *keys, uint32_t *best)
{
    const uint32_t at = layout->first + start * layout->step;
    if (layout->field == 1 && last - first >= 8) {
        for (uint32_t i = 0; i < count; i++) {
            best_of_row(data, dtype, at + i * layout->step, first, last, &keys[i], &best[i]);
        }
        return;
    }
    ar_keys(data, dtype, at + first * layout->field, layout->step, count, keys);
    for (uint32_t i = 0; i < count; i++) {
        best[i] = first;
    }
    for (uint32_t field = first + 1; field < last; field++) {
        int32_t others[AR_POST_BLOCK];
        ar_keys(data, dtype, at + field * layout->field, layout->step, count, others);
        for (uint32_t i = 0; i < count; i++) {
            const int32_t better = others[i] > keys[i];
            keys[i] = better ? others[i] : keys[i];
            best[i] = better ? field : best[i];
        }
    }
}
