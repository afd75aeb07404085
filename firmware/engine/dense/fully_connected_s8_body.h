/* The body of FULLY_CONNECTED, int8, in plain C. The file that includes this file must first define:
 *     FULLY_CONNECTED                the name of the function
 *     MULTIPLIER                     the type of a multiplier
 *     SCALE(sum, multiplier, shift)  the output for a sum, minus the output's zero point */
#include "fixed_point.h"
#include "fully_connected.h"

void FULLY_CONNECTED(const ar_fully_connected_params *p)
{
    const int8_t *in = p->input;
    const int32_t *bias = p->bias;
    const MULTIPLIER *multiplier = p->multiplier;
    int8_t *out = p->output;

    for (uint32_t b = 0; b < p->batches; b++, in += p->depth) {
        const int8_t *w = p->weights;
        for (int32_t c = 0; c < p->units; c++, w += p->depth) {
            const int32_t k = p->per_channel ? c : 0;
            int32_t acc = bias ? bias[c] : 0;
            for (int32_t i = 0; i < p->depth; i++) {
                acc += (w[i] + p->weights_offset) * (in[i] + p->input_offset);
            }
            acc = SCALE(acc, multiplier[k], p->shift[k]) + p->output_offset;
            *out++ = (int8_t)ar_clamp(acc, p->act_min, p->act_max);
        }
    }
}
