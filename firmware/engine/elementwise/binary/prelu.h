/* PRELU: negative inputs are multiplied by alpha, which is broadcast to the input's shape. */
#ifndef ARENITE_PRELU_H
#define ARENITE_PRELU_H

#include <stdint.h>

#include "broadcast.h"

typedef struct {
    const void *input;
    const int8_t *alpha;
    void *output;
    ar_broadcast shape;
    int32_t multiplier;       /* for inputs of zero and above, with `shift`: see ar_requant */
    int32_t alpha_multiplier; /* for products of a negative input and alpha, with `alpha_shift` */
    int16_t input_offset;     /* minus the zero point */
    int16_t alpha_offset;
    int16_t output_offset; /* the output's zero point */
    uint8_t type;          /* of input and output: AR_INT8 or AR_INT16 */
    int8_t shift;
    int8_t alpha_shift;
} ar_prelu_params;

void ar_prelu(const ar_prelu_params *p);

#endif
