/* SignalFftAutoScale: samples shifted to the left, so that the largest one has 15 bits. */
#include "channels.h"
#include "spectrum.h"

/* Returns the largest absolute value. That of -32768 wraps to -32768, as in TensorFlow Lite Micro. */
static int32_t largest(const int16_t *in, uint32_t count)
{
    int32_t max = 0;
    for (uint32_t k = 0; k < count; k++) {
        if (in[k] > max) {
            max = in[k];
        } else if (-in[k] > max) {
            max = (int16_t)-in[k];
        }
    }
    return max;
}

void ar_signal_scale(const ar_signal_scale_params *p)
{
    const int32_t max = largest(p->input, p->count);
    const int32_t bits = max > 0 ? 15 - ar_bits32((uint32_t)max) : 0;
    for (uint32_t k = 0; k < p->count; k++) {
        p->output[k] = (int16_t)(p->input[k] * (1 << bits));
    }
    *p->scale_bits = bits;
}
