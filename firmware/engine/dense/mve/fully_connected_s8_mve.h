/* FULLY_CONNECTED for Helium, int8, and CONV_2D with one output pixel, which differs in how it rounds. */
#ifndef ARENITE_FULLY_CONNECTED_S8_MVE_H
#define ARENITE_FULLY_CONNECTED_S8_MVE_H

#include <stdint.h>

typedef struct {
    const int8_t *input;       /* [batches][depth] */
    int8_t *output;            /* [batches][units] */
    const int8_t *weights;     /* [units][depth], as in the model */
    const int32_t *bias;       /* [units], minus the input's zero point times the sum of the unit's weights */
    const int32_t *multiplier; /* per unit, or four times the same */
    const int8_t *shift;       /* -1 or less; or 0, if it rounds twice and is not two-sided */
    uint32_t batches;
    uint16_t depth, units;
    uint16_t scale_step; /* 1: one multiplier per unit; 0: one for all */
    int16_t output_zero;
    int8_t act_min, act_max;
    uint8_t twice;     /* 1: rounds as convolutions do, see gemm_s8_mve.h; 0: once */
    uint8_t two_sided; /* if twice */
} ar_fully_connected_mve_params;

void ar_fully_connected_s8_mve(const ar_fully_connected_mve_params *p);

#endif
