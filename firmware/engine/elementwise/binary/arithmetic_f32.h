/* ADD, SUB, MUL and DIV of float32 values. A model has them before its QUANTIZE, where each feature gets an offset and
 * a factor of its own. */
#ifndef ARENITE_ARITHMETIC_F32_H
#define ARENITE_ARITHMETIC_F32_H

#include <stdint.h>

#include "broadcast.h"

enum { AR_ADD_F32, AR_SUB_F32, AR_MUL_F32, AR_DIV_F32 };

typedef struct {
    const void *input1;
    const void *input2;
    void *output;
    ar_broadcast shape;
    float act_min, act_max; /* the results are clamped to these limits, as in LiteRT; NaN stays NaN */
    uint8_t operation;      /* AR_ADD_F32 ... */
} ar_arithmetic_f32_params;

void ar_arithmetic_f32(const ar_arithmetic_f32_params *p);

#endif
