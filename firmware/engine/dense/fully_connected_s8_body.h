/* The body of FULLY_CONNECTED, int8, in plain C. The file that includes this file must first define:
 *     FULLY_CONNECTED                the name of the function
 *     MULTIPLIER                     the type of a multiplier
 *     SCALE(sum, multiplier, shift)  the output for a sum, minus the output's zero point */
#include "dot4_s8.h"
#include "fixed_point.h"
#include "fully_connected.h"

void FULLY_CONNECTED(const ar_fully_connected_params *p)
{
    const int8_t *in = p->input;
    const int32_t *bias = p->bias;
    const MULTIPLIER *multiplier = p->multiplier;
    int8_t *out = p->output;
    const int32_t depth = p->depth;

    for (uint32_t b = 0; b < p->batches; b++, in += depth) {
        int32_t all = 0; /* what the zero point of the weights adds to each sum */
        if (p->weights_offset) {
            for (int32_t i = 0; i < depth; i++) {
                all += in[i] + p->input_offset;
            }
            all *= p->weights_offset;
        }
        const int8_t *w = p->weights;
        for (int32_t c = 0; c < p->units;) {
            /* The last units are summed one by one. */
            const int32_t together = p->units - c < AR_DOTS ? 1 : AR_DOTS;
            int32_t sums[AR_DOTS] = {all, all, all, all};
            ar_dot4_s8(in, w, together > 1 ? depth : 0, depth, p->input_offset, sums);
            w += together * depth;
            for (int32_t k = 0; k < together; k++, c++) {
                const int32_t channel = p->per_channel ? c : 0;
                int32_t acc = sums[k] + (bias ? bias[c] : 0);
                acc = SCALE(acc, multiplier[channel], p->shift[channel]) + p->output_offset;
                *out++ = (int8_t)ar_clamp(acc, p->act_min, p->act_max);
            }
        }
    }
}
