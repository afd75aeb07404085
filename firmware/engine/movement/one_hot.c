/* ONE_HOT. */
#include "copy.h"
#include "gather.h"

void ar_one_hot(const ar_one_hot_params *p)
{
    uint8_t *out = p->output;

    for (uint32_t outer = 0; outer < p->outer; outer++) {
        for (uint32_t d = 0; d < p->depth; d++) {
            for (uint32_t inner = 0; inner < p->inner; inner++) {
                const uint32_t position = outer * p->inner + inner;
                /* Only the low 32 bits of an index are used, as in LiteRT's reference kernel. */
                const int32_t index = p->index_bytes == 4 ? ((const int32_t *)p->indices)[position]
                                                          : (int32_t)((const int64_t *)p->indices)[position];
                ar_copy_bytes(out, index == (int32_t)d ? p->on : p->off, p->element);
                out += p->element;
            }
        }
    }
}
