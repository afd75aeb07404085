/* TANH of int16 as 2 sigmoid(2x) - 1, by linear interpolation in the table of sigmoid_table.h. */
#include "sigmoid_table.h"

void ar_table_tanh_s16(const ar_sigmoid_table_params *p)
{
    const int16_t *in = p->input;
    int16_t *out = p->output;
    for (uint32_t i = 0; i < p->count; i++) {
        const int32_t x = ar_sigmoid_input(p, in[i]);
        const uint32_t magnitude = x < 0 ? 0u - (uint32_t)x : (uint32_t)x;
        const uint32_t index = magnitude >> 8; /* the argument of the sigmoid is twice the magnitude */
        int32_t result = 0xFFFF << 8;          /* the sigmoid of inputs beyond the table: its largest value */
        if (index < 255) {
            const uint32_t low = p->table[index];
            result = (int32_t)((low << 8) + (magnitude & 0xFFu) * (p->table[index + 1] - low));
        }
        /* `result` is sigmoid(2 |x|) with 24 fraction bits. Minus one half it is tanh(|x|) / 2. Negate it for negative
         * inputs, and round to tanh(x) with 15 fraction bits. */
        result -= 1 << 23;
        out[i] = (int16_t)((x >= 0 ? result + (1 << 7) : -result + (1 << 7) - 1) >> 8);
    }
}
