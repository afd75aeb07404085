#include "copy.h"

void ar_copy(const ar_copy_params *p)
{
    const uint8_t *in = p->input;
    uint8_t *out = p->output;
    for (uint32_t i = 0; i < p->bytes; i++) {
        out[i] = in[i];
    }
}
