/* FULLY_CONNECTED in plain C, with int16 activations, int8 weights, and int64 accumulators that are scaled as in double
 * precision. */
#include "fully_connected.h"

#include "fixed_point.h"
#include "real_scale.h"

void ar_fully_connected_s16(const ar_fully_connected_params *p)
{
    const int16_t *in = p->input;
    const int64_t *bias = p->bias;
    const uint64_t *mantissa = p->multiplier;
    int16_t *out = p->output;

    for (uint32_t b = 0; b < p->batches; b++, in += p->depth) {
        const int8_t *w = p->weights;
        for (int32_t c = 0; c < p->units; c++, w += p->depth) {
            const int32_t k = p->per_channel ? c : 0;
            int64_t acc = bias ? bias[c] : 0;
            for (int32_t i = 0; i < p->depth; i++) {
                acc += (w[i] + p->weights_offset) * in[i];
            }
            const int32_t scaled = ar_scale_real(acc, mantissa[k], p->shift[k]);
            *out++ = (int16_t)ar_clamp(scaled, p->act_min, p->act_max);
        }
    }
}
