/* NEG and ABS of integers without quantization. The smallest value wraps, so it stays the same. */
#ifndef ARENITE_NEGATE_H
#define ARENITE_NEGATE_H

#include <stdint.h>

typedef struct {
    const void *input;
    void *output;
    uint32_t count;
    uint8_t type;          /* AR_INT16 or AR_INT32 */
    uint8_t only_negative; /* 1: negate only negative values (ABS) */
} ar_negate_params;

void ar_negate(const ar_negate_params *p);

#endif
