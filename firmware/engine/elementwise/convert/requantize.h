/* QUANTIZE of integers, and RELU of int16: converts integers with one scale to integers with another scale, and clamps
 * them. */
#ifndef ARENITE_REQUANTIZE_H
#define ARENITE_REQUANTIZE_H

#include <stdint.h>

typedef struct {
    const void *input;
    void *output;
    uint32_t count;
    int32_t multiplier;       /* multiplier and shift of ar_requant */
    int32_t input_offset;     /* minus the input's zero point */
    int32_t output_offset;    /* the output's zero point */
    int32_t act_min, act_max; /* outputs are clamped to this range */
    uint8_t input_type;       /* AR_INT8, AR_UINT8, AR_INT16 or AR_INT32 */
    uint8_t output_type;
    int8_t shift;
} ar_requantize_params;

void ar_requantize(const ar_requantize_params *p);

#endif
