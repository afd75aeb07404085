/* CUMSUM. The sums wrap modulo 2^32 or 2^64, which depends on the size of the type. */
#include "select_axis.h"

void ar_cumsum(const ar_cumsum_params *p)
{
    const int32_t step = p->reverse ? -(int32_t)p->inner : (int32_t)p->inner;

    for (uint32_t outer = 0; outer < p->outer; outer++) {
        for (uint32_t inner = 0; inner < p->inner; inner++) {
            uint32_t at = outer * p->axis * p->inner + inner + (p->reverse ? (p->axis - 1) * p->inner : 0);
            uint64_t sum = 0;
            for (uint32_t i = 0; i < p->axis; i++) {
                const uint64_t value =
                    p->element == 4 ? ((const uint32_t *)p->input)[at] : ((const uint64_t *)p->input)[at];
                const uint64_t next = sum + value;
                const uint64_t result = p->exclusive ? sum : next;
                if (p->element == 4) {
                    ((uint32_t *)p->output)[at] = (uint32_t)result;
                } else {
                    ((uint64_t *)p->output)[at] = result;
                }
                sum = next;
                at += (uint32_t)step;
            }
        }
    }
}
