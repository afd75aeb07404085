/* A layer with int4 weights in a segment that runs row by row. Its weights are unpacked to int8 before each row. */
#ifndef ARENITE_UNPACKED_ROW_H
#define ARENITE_UNPACKED_ROW_H

#include "stream.h"
#include "unpack4.h"

typedef struct {
    ar_unpack4_params unpack;
    ar_row_fn run;
    const void *params; /* the first argument of `run` */
} ar_unpacked_row_params;

/* Computes one row, see ar_row_fn in stream.h. `params` is an ar_unpacked_row_params. */
void ar_unpacked_row(const void *params, const int8_t *const *rows, int8_t *out);

#endif
