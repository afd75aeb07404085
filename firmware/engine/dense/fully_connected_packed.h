/* FULLY_CONNECTED, int8, with packed weights (see packed.h). The kernels unpack the weights of one unit at a time. */
#ifndef ARENITE_FULLY_CONNECTED_PACKED_H
#define ARENITE_FULLY_CONNECTED_PACKED_H

#include "fully_connected.h"
#include "packed.h"

typedef struct {
    ar_fully_connected_params layer; /* its field `weights` is not used */
    ar_packed packed;
    int8_t *row; /* scratch for the weights of one unit: [depth] */
} ar_fully_connected_packed_params;

/* These functions scale accumulators like ar_fully_connected_s8 and like ar_fully_connected_s8_real. */
void ar_fully_connected_s8_packed(const ar_fully_connected_packed_params *p);
void ar_fully_connected_s8_real_packed(const ar_fully_connected_packed_params *p);

#endif
