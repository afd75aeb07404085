/* SignalFilterBankSpectralSubtraction: noise reduction with an estimate that is kept between inferences. */
#include "filter_bank.h"

void ar_filter_bank_noise(const ar_filter_bank_noise_params *p)
{
    ar_noise_reduce(&p->settings, p->channels, p->input, p->output, p->state);
    for (uint32_t c = 0; c < p->channels; c++) {
        p->noise[c] = p->state[c];
    }
}
