/* FULLY_CONNECTED, int8, for cores without SIMD. The stored weights need twice as much flash as int8
 * weights. */
#ifndef ARENITE_FULLY_CONNECTED_PAIRS_H
#define ARENITE_FULLY_CONNECTED_PAIRS_H

#include <stdint.h>

#include "affine_requant.h"

typedef struct {
    const int8_t *input;       /* [batches][depth] */
    int8_t *output;            /* [batches][units] */
    const uint32_t *weights;   /* see fully_connected_s8_pairs_scalar.c */
    const uint8_t *runs;       /* see fully_connected_s8_pairs_scalar.c */
    const int32_t *bias;       /* [units], see ar_affine_x; includes the input's zero point */
    const int32_t *multiplier; /* [units], see affine_requant.h */
    ar_affine requant;
    uint32_t batches;
    uint16_t depth, units;   /* depth: a multiple of 4 */
    int8_t act_min, act_max; /* outputs are clamped to this range */
} ar_fully_connected_pairs_params;

void ar_fully_connected_s8_pairs_scalar(const ar_fully_connected_pairs_params *p);

#endif
