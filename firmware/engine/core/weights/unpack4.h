/* Unpacks int4 weights to int8, before a kernel that requires int8 weights. */
#ifndef ARENITE_UNPACK4_H
#define ARENITE_UNPACK4_H

#include <stdint.h>

/* Each row has `head` words that are copied, and (count + 1) / 2 words of int4 weights, which become `count` words: the
 * low nibbles become one word, the high nibbles the next. */
typedef struct {
    const uint32_t *from;
    uint32_t *to;
    uint32_t add,
        flip; /* added to each byte, below 128; then bits to flip: 128 in each byte to add 128, or 0 */
    uint16_t rows, head;
    uint32_t count;
} ar_unpack4_params;

void ar_unpack4(const ar_unpack4_params *p);

#endif
