/* SignalFilterBankSquareRoot: rounded square roots of 64-bit numbers, shifted to the right. */
#include "filter_bank.h"

void ar_filter_bank_root(const ar_filter_bank_root_params *p)
{
    const uint32_t shift = (uint32_t)*p->scale_bits & 31u;
    for (uint32_t c = 0; c < p->channels; c++) {
        p->output[c] = ar_rounded_root(p->input[c]) >> shift;
    }
}
