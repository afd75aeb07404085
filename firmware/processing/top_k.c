#include "post.h"

uint32_t ar_top_k(const void *scores, uint32_t dtype, uint32_t count, uint32_t k, int32_t least,
                  ar_scored *best)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        const int32_t key = ar_key(scores, dtype, i);
        if (key < least || (found == k && key <= best[k - 1].key)) {
            continue;
        }
        uint32_t at = found < k ? found++ : k - 1;
        for (; at > 0 && best[at - 1].key < key; at--) {
            best[at] = best[at - 1];
        }
        best[at].key = key;
        best[at].index = i;
    }
    return found;
}
