/* SignalFilterBank: sums of weighted energies. */
#include "filter_bank.h"

void ar_filter_bank(const ar_filter_bank_params *p)
{
    const uint16_t *weight = p->weights, *rest = p->rests;
    uint64_t before = 0; /* the share of part k - 1 for channel k - 1 */
    for (uint32_t part = 0; part <= p->channels; part++) {
        const uint32_t *energy = p->input + p->starts[part];
        uint64_t own = 0, all = 0;
        for (uint32_t k = p->counts[part]; k != 0; k--, energy++) {
            own += (uint64_t)*energy * *weight++;
            all += rest ? (uint64_t)*energy * *rest++ : *energy;
        }
        if (part > 0) {
            p->output[part - 1] = before + own;
        }
        before = rest ? all : all * p->whole - own;
    }
}
