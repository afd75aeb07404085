/* LOGICAL_AND, LOGICAL_OR and LOGICAL_NOT. A byte that is not 0 is true; each result is a byte 0 or 1. */
#ifndef ARENITE_LOGICAL_H
#define ARENITE_LOGICAL_H

#include <stdint.h>

#include "broadcast.h"

typedef struct {
    const void *input1;
    const void *input2; /* for LOGICAL_NOT the same address as input1 */
    void *output;
    ar_broadcast shape;
    uint8_t truth; /* bit 2a + b is the result for inputs a and b */
} ar_logical_params;

void ar_logical(const ar_logical_params *p);

#endif
