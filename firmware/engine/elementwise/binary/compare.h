/* EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER and GREATER_EQUAL. The output is one byte, 0 or 1, per element. */
#ifndef ARENITE_COMPARE_H
#define ARENITE_COMPARE_H

#include <stdint.h>

#include "broadcast.h"

typedef struct {
    const void *input1;
    const void *input2;
    void *output;
    ar_broadcast shape;
    uint8_t type;   /* of the inputs: AR_BOOL, AR_INT8, AR_UINT8, AR_INT16 or AR_INT32 */
    uint8_t accept; /* the cases that give 1: bit 0 less, bit 1 equal, bit 2 greater */
} ar_compare_params;

/* For integers without quantization. */
void ar_compare(const ar_compare_params *p);

typedef struct {
    ar_compare_params base;
    int32_t multiplier1; /* of input 1, for the common scale of both inputs */
    int32_t multiplier2;
    int16_t offset1; /* minus the input's zero point */
    int16_t offset2;
    uint8_t shift1; /* a right shift of input 1 */
    uint8_t shift2;
} ar_compare_scaled_params;

/* For quantized values with different scales. It first converts both inputs to the same scale. */
void ar_compare_scaled(const ar_compare_scaled_params *p);

/* Returns 1 if `accept` contains the case that holds for a and b: less, equal or greater. */
static inline uint8_t ar_accept(uint32_t accept, int32_t a, int32_t b)
{
    return (uint8_t)((accept >> (1 + (a > b) - (a < b))) & 1u);
}

#endif
