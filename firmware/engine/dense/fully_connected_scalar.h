/* FULLY_CONNECTED, int8, for cores without SIMD. */
#ifndef ARENITE_FULLY_CONNECTED_SCALAR_H
#define ARENITE_FULLY_CONNECTED_SCALAR_H

#include <stdint.h>

#include "affine_requant.h"

typedef struct {
    const int8_t *input;       /* [batches][depth] */
    int8_t *output;            /* [batches][units] */
    const uint32_t *weights;   /* see fully_connected_s8_scalar.c */
    const uint8_t *runs;       /* see fully_connected_s8_scalar.c */
    const int32_t *bias;       /* [units], see ar_affine_x; includes the input's zero point */
    const int32_t *multiplier; /* [units], see affine_requant.h */
    void *scratch;             /* 16 bytes for every 4 inputs, and 16 more bytes */
    ar_affine requant;
    uint32_t batches;
    uint16_t depth, units;
    uint8_t words;           /* see fully_connected_s8_scalar.c */
    int8_t act_min, act_max; /* outputs are clamped to this range */
} ar_fully_connected_scalar_params;

void ar_fully_connected_s8_scalar(const ar_fully_connected_scalar_params *p);

#endif
