#include "state.h"

#include "copy.h"

/* Stores eight pairs of words at a time (STRD on Arm), because a wake-word model carries several kilobytes from call to
 * call. Variables are at multiples of 16 in the arena. */
static void fill(uint8_t *data, uint32_t bytes, uint32_t value)
{
    typedef uint64_t __attribute__((__may_alias__)) pair;
    const pair eight = value * UINT64_C(0x0101010101010101);
    uint32_t i = 0;

    for (; i + 64 <= bytes; i += 64) {
        pair *out = (pair *)(void *)(data + i);
        out[0] = eight;
        out[1] = eight;
        out[2] = eight;
        out[3] = eight;
        out[4] = eight;
        out[5] = eight;
        out[6] = eight;
        out[7] = eight;
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
