#include "state.h"

#include "copy.h"

static void fill(uint8_t *data, uint32_t bytes, uint32_t value)
{
    typedef uint32_t __attribute__((__may_alias__)) word;
    const uint32_t four = value * 0x01010101u;
    uint32_t i = 0;

    for (; i + 16 <= bytes; i += 16) {
        word *out = (word *)(void *)(data + i);
        out[0] = four;
        out[1] = four;
        out[2] = four;
        out[3] = four;
    }
    for (; i < bytes; i++) {
        data[i] = (uint8_t)value;
    }
}

void ar_reset_state(const ar_reset_state_params *p)
{
    for (uint32_t k = 0; k < p->count; k++) {
        const ar_state *state = &p->states[k];
        if (state->initial) {
            ar_copy_bytes(state->data, state->initial, state->bytes);
        } else {
            fill(state->data, state->bytes, state->fill);
        }
    }
}
