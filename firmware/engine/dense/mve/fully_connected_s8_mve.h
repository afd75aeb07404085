/* FULLY_CONNECTED for Helium, int8. CONV_2D with one output pixel also uses this kernel, with another rounding. */
#ifndef ARENITE_FULLY_CONNECTED_S8_MVE_H
#define ARENITE_FULLY_CONNECTED_S8_MVE_H

#include <stdint.h>

typedef struct {
    const int8_t *input;       /* [batches][depth] */
    int8_t *output;            /* [batches][units] */
    const int8_t *weights;     /* [units][depth], as in the model */
    const int32_t *bias;       /* [units], minus the input's zero point times the sum of the unit's weights */
    const int32_t *multiplier; /* one per unit, or four copies of the multiplier of all units */
    const int8_t *shift; /* like `multiplier`; -1 or less, or also 0 if `twice` is 1 and `two_sided` is 0 */
    uint32_t batches;
    uint16_t depth, units;
    uint16_t scale_step;     /* 1: one multiplier per unit; 0: one for all units */
    int16_t output_zero;     /* the output's zero point */
    int8_t act_min, act_max; /* outputs are clamped to this range */
    uint8_t twice;           /* 1: round twice like convolutions, see gemm_s8_mve.h; 0: round once */
    uint8_t two_sided;       /* used if `twice` is 1, see gemm_s8_mve.h */
} ar_fully_connected_mve_params;

void ar_fully_connected_s8_mve(const ar_fully_connected_mve_params *p);

#endif
