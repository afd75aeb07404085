/* Decide from the level of sound or motion whether a model must run. */
#ifndef ARENITE_GATE_H
#define ARENITE_GATE_H

#include <stdint.h>

/* Limits that keep the energy of a block within 64 bits. */
enum { AR_GATE_MAX_BLOCK = 16384, AR_GATE_MAX_CHANNELS = 16 };

typedef struct {
    uint64_t on;       /* variance of the samples, summed over channels, that opens the gate */
    uint64_t off;      /* the level counts as high until the variance is below this */
    uint16_t hang;     /* blocks for which the gate stays open after the level was high, at most 65,534 */
    uint16_t channels; /* such as the axes of an accelerometer */
} ar_gate_plan;

/* A gate is closed if all fields except `plan` are 0. */
typedef struct {
    const ar_gate_plan *plan;
    uint16_t left; /* blocks for which the gate is still open */
    uint8_t is_high;
} ar_gate;

/* Measures one block and returns whether the gate is open. `samples` has `count` values of each channel, and the
 * values of all channels of a moment are next to each other. A constant offset, such as gravity, has no effect. */
uint32_t ar_gate_samples(ar_gate *g, const int16_t *samples, uint32_t count);

/* Takes the measured variance of a block of `count` samples, times count^2. Returns whether the gate is open. */
uint32_t ar_gate_energy(ar_gate *g, uint64_t energy, uint32_t count);

/* Takes a decision instead of samples, for a cascade in which a small model opens the gate of a large model: pass
 * ar_decision_active() of the small model after each of its hops. Returns whether the gate is open. */
uint32_t ar_gate_hold(ar_gate *g, uint32_t is_active);

#endif
