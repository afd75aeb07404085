/* Decides from the level of sound or motion whether a model must run. */
#include "gate.h"

uint32_t ar_gate_samples(ar_gate *g, const int16_t *samples, uint32_t count)
{
    const uint32_t channels = g->plan->channels;
    uint64_t energy = 0; /* count^2 times the variance */
    for (uint32_t c = 0; c < channels; c++) {
        int64_t sum = 0;
        uint64_t squares = 0;
        for (uint32_t k = 0; k < count; k++) {
            const int32_t value = samples[k * channels + c];
            sum += value;
            squares += (uint32_t)(value * value);
        }
        energy += squares * count - (uint64_t)(sum * sum);
    }
    return ar_gate_energy(g, energy, count);
}

uint32_t ar_gate_energy(ar_gate *g, uint64_t energy, uint32_t count)
{
    const uint64_t limit = g->is_high ? g->plan->off : g->plan->on;
    g->is_high = count != 0 && energy >= limit * ((uint64_t)count * count);
    return ar_gate_hold(g, g->is_high);
}

uint32_t ar_gate_hold(ar_gate *g, uint32_t is_active)
{
    if (is_active != 0) {
        g->left = (uint16_t)(g->plan->hang + 1u);
    } else if (g->left > 0) {
        g->left--;
    }
    return g->left > 0;
}
