/* GATHER_ND with indices that the model computes. */
#include "copy.h"
#include "gather.h"

void ar_gather_nd(const ar_gather_nd_params *p)
{
    uint8_t *out = p->output;

    for (uint32_t row = 0; row < p->rows; row++) {
        const uint8_t *in = p->input;
        for (uint32_t k = 0; k < p->depth; k++) {
            in += ar_index(p->indices, row * p->depth + k, p->index_bytes, p->size[k] - 1) * p->stride[k];
        }
        ar_copy_bytes(out, in, p->slice);
        out += p->slice;
    }
}
