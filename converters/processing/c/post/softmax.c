/* The best classes by their probabilities, for outputs without a softmax. */
#include "post.h"

#define LOG2E 387270501 /* log2(e) with 28 fractional bits */

/* Returns e^-value with 30 fractional bits. The value is at least 0. */
static uint32_t power_of_e(const uint32_t *powers, int64_t value)
{
    if (value <= 0) {
        return powers[0];
    }
    if (value > 20 << 16) { /* e^-20 is only 2 units */
        return 0;
    }
    /* The result is 2^-down, where `down` is rounded up. The table has 128 steps per unit; values between two steps are
     * interpolated linearly. */
    const uint32_t down = (uint32_t)((value * LOG2E + ((1 << 28) - 1)) >> 28);
    const uint32_t part = (0u - down) & 0xFFFFu;
    const uint32_t step = part >> 9;
    const uint64_t rise = (uint64_t)(powers[step + 1] - powers[step]) * (part & 511u) >> 9;
    return (uint32_t)((powers[step] + rise) >> ((down + 0xFFFFu) >> 16));
}

uint32_t ar_top_k_softmax(const ar_softmax *p, const void *scores, ar_scored *best)
{
    const uint32_t found = ar_top_k(scores, p->dtype, p->count, p->k, INT32_MIN, best);
    const int64_t most = ar_real(&p->values, 0, scores, p->dtype, best[0].index);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        sum += power_of_e(p->powers, most - ar_real(&p->values, 0, scores, p->dtype, i));
    }
    uint32_t kept = 0;
    for (; kept < found; kept++) {
        const int64_t below = most - ar_real(&p->values, 0, scores, p->dtype, best[kept].index);
        const uint64_t part = (uint64_t)power_of_e(p->powers, below) << 16;
        best[kept].key = (int32_t)((part + (sum >> 1)) / sum);
        if (best[kept].key < p->least) {
            break;
        }
    }
    return kept;
}
