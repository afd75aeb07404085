/* MUL of quantized values. */
#ifndef ARENITE_MUL_H
#define ARENITE_MUL_H

#include <stdint.h>

#include "broadcast.h"

typedef struct {
    const void *input1;
    const void *input2;
    void *output;
    ar_broadcast shape;
    int32_t multiplier; /* of the product of the inputs, with `shift`: see ar_requant */
    int16_t offset1;    /* minus the input's zero point */
    int16_t offset2;
    int16_t output_offset;    /* the output's zero point */
    int16_t act_min, act_max; /* outputs are clamped to this range */
    int8_t shift;
} ar_mul_params;

void ar_mul_s8(const ar_mul_params *p);
void ar_mul_s16(const ar_mul_params *p);

#endif
