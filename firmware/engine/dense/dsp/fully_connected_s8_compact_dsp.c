/* FULLY_CONNECTED, int8, with little code: two units at a time. Rounds once; the generator has proven that this gives
 * LiteRT's outputs. */
#include "fully_connected_s8_compact_dsp.h"

#include "fixed_point.h"
#include "sxtb16.h"

/* Writes an output of unit c to `out`. */
static void store(const ar_fully_connected_compact_params *p, int32_t c, int32_t sum, int8_t *out)
{
    const int32_t k = p->per_channel ? c : 0;
    const int32_t v = ar_requant_once(sum, p->multiplier[k], p->shift[k]) + p->output_zero;
    out[c] = (int8_t)ar_clamp(v, INT8_MIN, INT8_MAX);
}

void ar_fully_connected_s8_compact_dsp(const ar_fully_connected_compact_params *p)
{
    const int32_t zeros = ar_sxtb16((uint8_t)p->input_zero * 0x00010001u);
    const int8_t *in = p->input;
    int8_t *out = p->output;
    for (uint32_t n = p->batches; n != 0; n--, in += p->depth, out += p->units) {
        int32_t *x = p->scratch;
        for (int32_t i = 0; i < p->depth; i += 4, x += 2) {
            uint32_t bytes; /* the last ones may be after the row; their weights are 0 */
            __builtin_memcpy(&bytes, in + i, 4);
            x[0] = ar_subtract16(ar_sxtb16(bytes), zeros);
            x[1] = ar_subtract16(ar_sxtb16_ror8(bytes), zeros);
        }
        const int32_t *word = p->pairs;
        for (int32_t c = 0; c < p->units; c += 2) {
            int32_t both = word[0];
            int32_t second = word[1];
            word += 2;
            for (x = p->scratch; x != p->scratch + 2 * p->groups; x += 2, word += 2) {
                both = ar_add_products16(both, word[0], x[0]);
                second = ar_add_products16(second, ar_sxtb16((uint32_t)word[0]), x[0]);
                both = ar_add_products16(both, word[1], x[1]);
                second = ar_add_products16(second, ar_sxtb16((uint32_t)word[1]), x[1]);
            }
            store(p, c, (int32_t)((uint32_t)both - (uint32_t)second) >> 8, out);
            if (c + 1 < p->units) {
                store(p, c + 1, second, out);
            }
        }
    }
}
