/* SignalPCAN: automatic gain control, the signal divided by a power of the noise. */
#include "filter_bank.h"

void ar_filter_bank_gain(const ar_filter_bank_gain_params *p)
{
    ar_gain_control(p->gains, p->shift, p->channels, p->input, p->noise, p->output);
}
