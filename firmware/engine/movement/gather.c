/* GATHER, and GATHER_ND with constant indices. */
#include "gather.h"

#include "copy.h"

void ar_gather(const ar_gather_params *p)
{
    const uint8_t *in = p->input;
    uint8_t *out = p->output;

    for (uint32_t batch = 0; batch < p->batches; batch++) {
        for (uint32_t outer = 0; outer < p->outer; outer++) {
            for (uint32_t i = 0; i < p->index_count; i++) {
                const uint32_t at =
                    ar_index(p->indices, batch * p->index_count + i, p->index_bytes, p->axis - 1);
                ar_copy_bytes(out, in + at * p->slice, p->slice);
                out += p->slice;
            }
            in += p->axis * p->slice;
        }
    }
}
