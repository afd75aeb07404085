/* Copies bytes. Operators that only change a shape need it if the planner could not give their input and output the
 * same address. */
#ifndef ARENITE_COPY_H
#define ARENITE_COPY_H

#include <stdint.h>

typedef struct {
    const void *input;
    void *output;
    uint32_t bytes;
} ar_copy_params;

void ar_copy(const ar_copy_params *p);

/* Copies from low to high addresses, in words if both addresses and the length allow it. `out` may overlap `in` if
 * it is below `in`. */
static inline void ar_copy_bytes(uint8_t *out, const uint8_t *in, uint32_t bytes)
{
    typedef uint32_t __attribute__((__may_alias__)) word;

    if ((((uintptr_t)out | (uintptr_t)in | bytes) & 3u) == 0) {
        for (uint32_t i = 0; i < bytes; i += 4) {
            *(word *)(void *)(out + i) = *(const word *)(const void *)(in + i);
        }
        return;
    }
    for (uint32_t i = 0; i < bytes; i++) {
        out[i] = in[i];
    }
}

#endif
