/* SignalWindow: samples times the weights of a window. */
#include "spectrum.h"

void ar_signal_window(const ar_signal_window_params *p)
{
    const int16_t *in = p->input;
    int16_t *out = p->output;
    for (uint32_t row = p->rows; row != 0; row--) {
        for (uint32_t k = 0; k < p->length; k++) {
            const int32_t product = (*in++ * p->weights[k]) >> p->shift;
            *out++ = (int16_t)(product < INT16_MIN ? INT16_MIN : product > INT16_MAX ? INT16_MAX : product);
        }
    }
}
