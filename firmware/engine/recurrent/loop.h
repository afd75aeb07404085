/* A body of layers that runs once per step, such as one time step of a recurrent layer. All steps use the same
 * addresses: before a step, its part of a sequence is copied to the body's input, and after the step its results are
 * copied from the body's output. */
#ifndef ARENITE_LOOP_H
#define ARENITE_LOOP_H

#include <stdint.h>

#include "arenite.h"

typedef struct {
    const void *from;
    void *to;
    int32_t from_stride, to_stride; /* bytes from one step to the next */
    uint32_t bytes;
} ar_loop_copy;

typedef struct {
    const ar_loop_copy
        *copies; /* those before the loop, before each step, after each step, and after the loop */
    const ar_layer_fn *layers; /* of the body */
    uint16_t layer_count, steps;
    uint8_t first, before, after, last; /* the numbers of copies of these four kinds, in their order */
} ar_loop_params;

void ar_loop(const ar_loop_params *p);

#endif
