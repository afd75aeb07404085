/* FULLY_CONNECTED, weights [units][depth]. */
#ifndef ARENITE_FULLY_CONNECTED_H
#define ARENITE_FULLY_CONNECTED_H

#include <stdint.h>

typedef struct {
    const void *input; /* [batches][depth] */
    void *output;      /* [batches][units] */
    const int8_t *weights;
    const void *bias; /* [units] int32 (int8 input) or int64 (int16 input); 0 when absent */
    /* One scale for all units or one per unit. In `ar_fully_connected_s8`: int32 multiplier and shift of
     * ar_requant_once. In the other functions: uint64 mantissa and exponent of ar_scale_real. */
    const void *multiplier;
    const int8_t *shift;
    uint32_t batches;
    uint16_t depth, units;
    int16_t input_offset; /* minus the zero points of input and weights; not used for int16 input */
    int16_t weights_offset;
    int16_t output_offset; /* the output's zero point */
    int16_t act_min, act_max;
    uint8_t per_channel; /* 1: multiplier and shift are arrays; 0: one of each */
} ar_fully_connected_params;

/* LiteRT scales the accumulator in double precision. This function uses one 32 x 32 bit product, so it is only for
 * layers for which that is proven to give the same result for every accumulator that can occur. */
void ar_fully_connected_s8(const ar_fully_connected_params *p);

/* Gives the results of double precision for any scale. */
void ar_fully_connected_s8_real(const ar_fully_connected_params *p);

void ar_fully_connected_s16(const ar_fully_connected_params *p);

#endif
