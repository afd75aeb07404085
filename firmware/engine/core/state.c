/* Resets the variables that a model carries between inferences. */
#include "state.h"

#include "copy.h"

/* Sets every byte of `data` to `value`. Eight pairs of 32-bit words are stored per loop round (STRD on Arm), because a
 * wake-word model carries several kilobytes from inference to inference. The addresses of variables in the arena are
 * multiples of 16. */
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
