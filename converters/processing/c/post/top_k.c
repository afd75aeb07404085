/* Finds the k best classes. */
#include "post.h"

uint32_t ar_top_k(const void *scores, uint32_t dtype, uint32_t count, uint32_t k, int32_t least,
                  ar_scored *best)
{
    uint32_t found = 0;
    int64_t above = (int64_t)least - 1; /* a score must be above this */
    int32_t keys[AR_POST_BLOCK];
    for (uint32_t start = 0; start < count; start += AR_POST_BLOCK) {
        const uint32_t block = count - start < AR_POST_BLOCK ? count - start : AR_POST_BLOCK;
        ar_keys(scores, dtype, start, 1, block, keys);
        for (uint32_t i = 0; i < block; i++) {
            const int32_t key = keys[i];
            if (key <= above) {
                continue;
            }
            uint32_t at = found < k ? found++ : k - 1;
            for (; at > 0 && best[at - 1].key < key; at--) {
                best[at] = best[at - 1];
            }
            best[at].key = key;
            best[at].index = start + i;
            above = found == k ? best[k - 1].key : above;
        }
    }
    return found;
}
