#include "state.h"

void ar_reset_state(const ar_reset_state_params *p)
{
    for (uint32_t k = 0; k < p->count; k++) {
        const ar_state *state = &p->states[k];
        const uint8_t *initial = state->initial;
        uint8_t *data = state->data;
        for (uint32_t i = 0; i < state->bytes; i++) {
            data[i] = initial ? initial[i] : (uint8_t)state->fill;
        }
    }
}
