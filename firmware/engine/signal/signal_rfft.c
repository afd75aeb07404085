/* SignalRfft: spectra of real numbers. */
#include "spectrum.h"

void ar_signal_rfft(const ar_signal_rfft_params *p)
{
    const uint32_t half = p->fft / 2u;
    const int16_t *in = p->input;
    ar_complex16 *z = p->output;
    for (uint32_t row = p->rows; row != 0; row--) {
        uint32_t at = 0;
        for (uint32_t n = 0; n < half; n++) {
            z[at].re = 2 * n < p->length ? in[2 * n] : 0;
            z[at].im = 2 * n + 1 < p->length ? in[2 * n + 1] : 0;
            at = n + 1 < half ? ar_fft16_next(at, half) : 0;
        }
        ar_fft16(z, p->fft, p->wave, 0);
        in += p->length;
        z += half + 1;
    }
}
