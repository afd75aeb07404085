/* Computes any function of one int8 or uint8 element with a table of 256 outputs. */
#include "map.h"

void ar_map_8(const ar_map_params *p)
{
    const uint8_t *in = p->input;
    const uint8_t *table = p->table;
    uint8_t *out = p->output;
    for (uint32_t i = 0; i < p->count; i++) {
        out[i] = table[in[i]];
    }
}

void ar_map_8_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_map_params *p = params;
    const int8_t *table = p->table;
    for (uint32_t i = 0; i < p->count; i++) {
        out[i] = table[(uint8_t)rows[0][i]];
    }
}
