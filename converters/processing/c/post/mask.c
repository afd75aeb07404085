/* The mask of a segmentation: the class of each pixel. */
#include "post.h"

/* Returns the class of a pixel. `best` is the channel with the largest value, and `key` the key of that value. */
static uint8_t class_of(const ar_segments *p, int32_t key, uint32_t best)
{
    if (p->given) {
        return (uint8_t)key;
    }
    return p->last - p->first == 1 ? key >= p->least : (uint8_t)(best - p->first);
}

void ar_mask(const ar_segments *p, const void *data, uint8_t *found)
{
    int32_t keys[AR_POST_BLOCK];
    uint32_t best[AR_POST_BLOCK];
    for (uint32_t start = 0; start < p->count; start += AR_POST_BLOCK) {
        const uint32_t block = p->count - start < AR_POST_BLOCK ? p->count - start : AR_POST_BLOCK;
        ar_best(data, p->dtype, &p->pixel, start, block, p->first, p->last, keys, best);
        for (uint32_t i = 0; i < block; i++) {
            found[start + i] = class_of(p, keys[i], best[i]);
        }
    }
}
