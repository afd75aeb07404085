/* FULLY_CONNECTED for Helium, int8, with one multiplier for all units: eight units (a group) at a time, without a
 * counter per vector of weights.
 *
 * The weights of a group are stored in the order in which they are read: vectors of 16 inputs, each [8][16] for the eight
 * units. If the depth is no multiple of 16, the vector of the last inputs is the first one, filled up with zeros. */
#ifndef ARENITE_FULLY_CONNECTED_GROUPS_S8_MVE_H
#define ARENITE_FULLY_CONNECTED_GROUPS_S8_MVE_H

#include <stdint.h>

typedef struct {
    const int8_t *input;   /* [batches][depth] */
    int8_t *output;        /* [batches][units] */
    const int8_t *weights; /* [units / 8][vectors][8][16], see above */
    const int32_t *bias;   /* [units], minus the input's zero point times the sum of the unit's weights */
    int32_t multiplier;    /* of all units */
    int32_t added;         /* (output_zero << n) + 2^(n - 1), where n is the right shift, 1 to 24 */
    int32_t left;          /* 24 - n */
    uint32_t batches;
    uint32_t depth;          /* at least 1 */
    uint32_t units;          /* a multiple of 8 */
    int8_t act_min, act_max; /* outputs are clamped to this range */
} ar_fully_connected_groups_params;

/* Computes all units of one batch, limited to int8. */
void ar_multiply_groups_mve(const ar_fully_connected_groups_params *p, const int8_t *x, int8_t *out);

void ar_fully_connected_groups_s8_mve(const ar_fully_connected_groups_params *p);

#endif
