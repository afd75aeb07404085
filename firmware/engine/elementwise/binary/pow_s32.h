/* POW of int32. Negative exponents, which LiteRT rejects, are treated as zero. */
#ifndef ARENITE_POW_S32_H
#define ARENITE_POW_S32_H

#include <stdint.h>

#include "broadcast.h"

typedef struct {
    const void *input1; /* bases */
    const void *input2; /* exponents */
    void *output;
    ar_broadcast shape;
    uint8_t wraps; /* 1: products wrap; 0: a power that does not fit becomes the smallest int32 */
} ar_pow_s32_params;

void ar_pow_s32(const ar_pow_s32_params *p);

#endif
