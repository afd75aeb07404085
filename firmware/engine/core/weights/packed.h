/* Weights that are stored as codes of 1, 2, 4 or 8 bits. They are read one after the other. */
#ifndef ARENITE_PACKED_H
#define ARENITE_PACKED_H

#include <stdint.h>

typedef struct {
    const uint8_t *codes; /* the first code of a byte is in its low bits */
    /* One bit per weight: 1 if the weight has a code; 0 if the weight is 0, which has no code. The pointer is 0 if
     * every weight has a code. */
    const uint8_t *present;
    /* The weight for each code. The pointer may be 0 if `present` is given; then each code is the weight itself. */
    const int8_t *values;
    uint8_t log2_codes_per_byte; /* binary logarithm of the number of codes in a byte */
} ar_packed;

/* A position in packed weights: the numbers of weights and of codes that have been read. `weights` is used only with
 * `present`. */
typedef struct {
    uint32_t weights, codes;
} ar_packed_place;

/* Unpacks the next `count` weights to `to`, and advances `place`. */
void ar_unpack(const ar_packed *p, ar_packed_place *place, int8_t *to, int32_t count);

#endif
