/* MINIMUM and MAXIMUM, element by element, of integers of the same type. */
#ifndef ARENITE_MINIMUM_MAXIMUM_H
#define ARENITE_MINIMUM_MAXIMUM_H

#include <stdint.h>

#include "broadcast.h"

typedef struct {
    const void *input1;
    const void *input2;
    void *output;
    ar_broadcast shape;
    uint8_t type;    /* AR_INT8, AR_UINT8, AR_INT16 or AR_INT32 */
    uint8_t maximum; /* 1: maximum; 0: minimum */
} ar_minimum_maximum_params;

void ar_minimum_maximum(const ar_minimum_maximum_params *p);

#endif
