/* Byte copy, for operators that only change a shape when the planner could not let both share an address. */
#ifndef ARENITE_COPY_H
#define ARENITE_COPY_H

#include <stdint.h>

typedef struct {
    const void *input;
    void *output;
    uint32_t bytes;
} ar_copy_params;

void ar_copy(const ar_copy_params *p);

#endif
