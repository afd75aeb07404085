/* Decides about many hops in one call. Only the host's library contains this file. */
#include "decide_many.h"

uint32_t ar_decide_many(ar_decision *d, const int8_t *scores, const uint64_t *at, const uint8_t *has_scores,
                        uint32_t count, ar_event *scratch, ar_event *events, uint32_t room)
{
    uint32_t total = 0;
    for (uint32_t k = 0; k < count; k++) {
        const int8_t *row = has_scores[k] ? scores + (uint64_t)k * d->plan->classes : 0;
        const uint32_t number = ar_decide(d, row, at[k], scratch);
        for (uint32_t i = 0; i < number; i++, total++) {
            if (total < room) {
                events[total] = scratch[i];
            }
        }
    }
    return total;
}
