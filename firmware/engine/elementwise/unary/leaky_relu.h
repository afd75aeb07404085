/* LEAKY_RELU and ABS of int16. Negative inputs have a multiplier of their own. */
#ifndef ARENITE_LEAKY_RELU_H
#define ARENITE_LEAKY_RELU_H

#include <stdint.h>

typedef struct {
    const void *input;
    void *output;
    uint32_t count;
    int32_t multiplier;          /* for inputs of zero and above */
    int32_t negative_multiplier; /* for negative inputs, or for their magnitude if `magnitude` is 1 */
    int8_t shift;
    int8_t negative_shift;
    uint8_t magnitude; /* 1: negative inputs change sign before scaling (ABS) */
    int8_t sign;       /* -1: the scaled negative input changes sign */
} ar_leaky_relu_params;

void ar_leaky_relu_s16(const ar_leaky_relu_params *p);

#endif
