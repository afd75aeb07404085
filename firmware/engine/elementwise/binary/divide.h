/* DIV, FLOOR_DIV and FLOOR_MOD. If a divisor is zero, LiteRT aborts; here the result is zero. */
#ifndef ARENITE_DIVIDE_H
#define ARENITE_DIVIDE_H

#include <stdint.h>

#include "broadcast.h"

enum { AR_DIV, AR_FLOOR_DIV, AR_FLOOR_MOD };

typedef struct {
    const void *input1;
    const void *input2;
    void *output;
    ar_broadcast shape;
    int32_t act_min, act_max;
    uint8_t type;      /* AR_INT8, AR_INT16 or AR_INT32 */
    uint8_t operation; /* AR_DIV ... */
} ar_divide_int_params;

/* For integers without quantization. */
void ar_divide_int(const ar_divide_int_params *p);

typedef struct {
    ar_divide_int_params base; /* `operation` is not used */
    int32_t multiplier; /* multiplier and shift convert the quotient of the inputs to the output's scale */
    int32_t offset1;    /* minus the input's zero point */
    int32_t offset2;
    int32_t output_offset; /* the output's zero point */
    int8_t shift;
} ar_divide_scaled_params;

/* For quantized values, AR_INT8 or AR_INT16. */
void ar_divide_scaled(const ar_divide_scaled_params *p);

#endif
