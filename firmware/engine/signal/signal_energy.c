/* SignalEnergy: squared magnitudes of complex numbers. */
#include "spectrum.h"

void ar_signal_energy(const ar_signal_energy_params *p)
{
    uint32_t k = 0;
    while (k < p->start) {
        p->output[k++] = 0;
    }
    for (; k < p->end; k++) {
        const int32_t re = p->input[k].re, im = p->input[k].im;
        p->output[k] = (uint32_t)(re * re) + (uint32_t)(im * im);
    }
    while (k < p->count) {
        p->output[k++] = 0;
    }
}
