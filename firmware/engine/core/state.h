/* Resets state that is carried between inferences. */
#ifndef ARENITE_STATE_H
#define ARENITE_STATE_H

#include <stdint.h>

typedef struct {
    void *data;          /* `bytes` bytes in the arena, on a word boundary */
    const void *initial; /* initial bytes; 0: every byte is set to `fill` */
    uint32_t bytes;
    uint32_t fill; /* 0 to 255 */
} ar_state;

typedef struct {
    const ar_state *states;
    uint32_t count;
} ar_reset_state_params;

void ar_reset_state(const ar_reset_state_params *p);

#endif
