/* QUANTIZE between int8 and uint8 with the same scale: only the top bit changes. */
#include "map.h"

void ar_flip_8(const ar_map_params *p)
{
    const uint8_t *in = p->input;
    uint8_t *out = p->output;
    for (uint32_t i = 0; i < p->count; i++) {
        out[i] = in[i] ^ 0x80u;
    }
}
