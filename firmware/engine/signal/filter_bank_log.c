/* SignalFilterBankLog: scaled logarithms, at most 32767. */
#include "filter_bank.h"

void ar_filter_bank_log(const ar_filter_bank_log_params *p)
{
    for (uint32_t c = 0; c < p->channels; c++) {
        const uint32_t value = ar_scaled_log(p->logs, p->scale, p->input[c] << p->correction);
        p->output[c] = (int16_t)(value < INT16_MAX ? value : INT16_MAX);
    }
}
