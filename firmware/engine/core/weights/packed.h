/* Weights that are stored as codes of 1, 2, 4 or 8 bits, and read one after the other. */
#ifndef ARENITE_PACKED_H
#define ARENITE_PACKED_H

#include <stdint.h>

typedef struct {
    const uint8_t *codes; /* the first in the low bits of a byte */
    const uint8_t
        *present; /* a bit per weight, 0 for a weight of 0, which has no code; 0 if every weight has a code */
    const int8_t *values; /* the weight for each code; with `present` it may be 0: the code is the weight */
    uint8_t log2_codes_per_byte; /* binary logarithm of the number of codes in a byte */
} ar_packed;

/* Position in packed weights: the number of weights (only with `present`) and of codes read so far. */
typedef struct {
    uint32_t weights, codes;
} ar_packed_place;

/* Unpacks the next `count` weights. */
void ar_unpack(const ar_packed *p, ar_packed_place *place, int8_t *to, int32_t count);

#endif
