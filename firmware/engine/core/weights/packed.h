/* Weights as codes of a few bits, read one after the other. */
#ifndef ARENITE_PACKED_H
#define ARENITE_PACKED_H

#include <stdint.h>

typedef struct {
    const uint8_t *codes; /* the first in the low bits of a byte */
    const uint8_t
        *present; /* a bit per weight: 0 where it is 0 and has no code; or 0: every weight has a code */
    const int8_t *values; /* what a code means; 0, with `present`: the code itself */
    uint8_t per_byte;     /* binary logarithm of the codes in a byte */
} ar_packed;

/* Position in packed weights: the weights (with `present`) and codes that were read. */
typedef struct {
    uint32_t weights, codes;
} ar_packed_place;

/* The next `count` weights. */
void ar_unpack(const ar_packed *p, ar_packed_place *place, int8_t *to, int32_t count);

#endif
