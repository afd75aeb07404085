/* Computes any function of one int16 element by linear interpolation in a table. */
#include "map.h"

#include "lut_s16.h"

void ar_map_s16(const ar_map_params *p)
{
    const int16_t *in = p->input;
    int16_t *out = p->output;
    for (uint32_t i = 0; i < p->count; i++) {
        out[i] = ar_lut_s16(in[i], p->table);
    }
}
