/* LOGISTIC of int16, by linear interpolation in the table of sigmoid_table.h. */
#include "sigmoid_table.h"

void ar_table_logistic_s16(const ar_sigmoid_table_params *p)
{
    const int16_t *in = p->input;
    int16_t *out = p->output;
    for (uint32_t i = 0; i < p->count; i++) {
        const int32_t x = ar_sigmoid_input(p, in[i]);
        const uint32_t magnitude = x < 0 ? 0u - (uint32_t)x : (uint32_t)x;
        const uint32_t index = magnitude >> 9;
        uint32_t result = 0x7FFFu << 10; /* the largest output, for inputs beyond the table */
        if (index < 255) {
            const uint32_t low = p->table[index];
            result = (low << 9) + (magnitude & 0x1FFu) * (p->table[index + 1] - low);
        }
        /* Round from 25 to 15 fraction bits. For a negative x, sigmoid(x) is 1 - sigmoid(-x). */
        result = x >= 0 ? result + (1u << 9) : (1u << 25) - result + (1u << 9) - 1;
        out[i] = (int16_t)(result >> 10);
    }
}
