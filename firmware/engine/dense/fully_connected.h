/* The kernels of FULLY_CONNECTED in plain C. Weights are [units][depth]. */
#ifndef ARENITE_FULLY_CONNECTED_H
#define ARENITE_FULLY_CONNECTED_H

#include <stdint.h>

typedef struct {
    const void *input; /* [batches][depth] */
    void *output;      /* [batches][units] */
    const int8_t *weights;
    const void *bias; /* [units] int32 (int8 input) or int64 (int16 input); 0 if there is no bias */
    /* `multiplier` and `shift` are one scale for all units or one scale per unit. For ar_fully_connected_s8 they are
     * the int32 multiplier and the shift of ar_requant_once, for the other functions the uint64 mantissa and the
     * exponent of ar_scale_real. */
    const void *multiplier;
    const int8_t *shift;
    uint32_t batches;
    uint16_t depth, units;
    int16_t input_offset;     /* minus the input's zero point; not used for int16 input */
    int16_t weights_offset;   /* minus the zero point of the weights */
    int16_t output_offset;    /* the output's zero point */
    int16_t act_min, act_max; /* outputs are clamped to this range */
    uint8_t per_channel;      /* 1: one scale per unit; 0: one scale for all units */
} ar_fully_connected_params;

/* LiteRT scales the accumulator in double precision. This function uses one 32 x 32 bit product. It is used only for
 * layers for which the generator has proven that the result is the same for every accumulator that can occur. */
void ar_fully_connected_s8(const ar_fully_connected_params *p);

/* Gives the results of double precision for any scale, without floating point. */
void ar_fully_connected_s8_real(const ar_fully_connected_params *p);

/* The same for int16 activations, with int64 accumulators. */
void ar_fully_connected_s16(const ar_fully_connected_params *p);

#endif
