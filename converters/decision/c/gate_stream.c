/* A gate that takes samples as they arrive; see gate_stream.h. */
#include "gate_stream.h"

static void clear(ar_gate_stream *s)
{
    for (uint32_t c = 0; c < s->gate.plan->channels; c++) {
        s->sums[c].sum = 0;
        s->sums[c].squares = 0;
    }
    s->filled = 0;
}

void ar_gate_restart(ar_gate_stream *s)
{
    clear(s);
    s->gate.left = 0;
    s->gate.is_high = 0;
}

static void finish_block(ar_gate_stream *s)
{
    uint64_t energy = 0; /* block^2 times the variance */
    for (uint32_t c = 0; c < s->gate.plan->channels; c++) {
        energy += s->sums[c].squares * s->block - (uint64_t)(s->sums[c].sum * s->sums[c].sum);
    }
    ar_gate_energy(&s->gate, energy, s->block);
    clear(s);
}

void ar_gate_feed(ar_gate_stream *s, const int16_t *samples, uint32_t count)
{
    const uint32_t channels = s->gate.plan->channels;
    for (; count > 0; count--, samples += channels) {
        for (uint32_t c = 0; c < channels; c++) {
            const int32_t value = samples[c];
            s->sums[c].sum += value;
            s->sums[c].squares += (uint32_t)(value * value);
        }
        s->filled++;
        if (s->filled == s->block) {
            finish_block(s);
        }
    }
}

uint32_t ar_gate_is_open(const ar_gate_stream *s) { return s->gate.left > 0; }
