/* ADD, SUB, MUL and SQUARED_DIFFERENCE of int32 values without quantization. The results wrap
 * modulo 2^32 and are then clamped. */
#ifndef ARENITE_ARITHMETIC_S32_H
#define ARENITE_ARITHMETIC_S32_H

#include <stdint.h>

#include "broadcast.h"

enum { AR_ADD_S32, AR_SUB_S32, AR_MUL_S32, AR_SQUARED_DIFFERENCE_S32 };

typedef struct {
    const void *input1;
    const void *input2;
    void *output;
    ar_broadcast shape;
    int32_t act_min, act_max;
    uint8_t operation; /* AR_ADD_S32 ... */
} ar_arithmetic_s32_params;

void ar_arithmetic_s32(const ar_arithmetic_s32_params *p);

#endif
