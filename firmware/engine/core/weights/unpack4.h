/* Unpacks int4 weights to int8, before a kernel that requires int8 weights. */
#ifndef ARENITE_UNPACK4_H
#define ARENITE_UNPACK4_H

#include <stdint.h>

/* Each of `rows` rows begins with `head` 32-bit words that are not int4 weights; they are copied unchanged. Then it
 * has (count + 1) / 2 words of int4 weights, which become `count` words of int8 weights: the low nibbles of a word
 * become one word, its high nibbles the next. A weight is nibble + base modulo 256, with one base for all weights. */
typedef struct {
    const uint32_t *from;
    uint32_t *to;
    uint32_t add; /* the low seven bits of the base, in each byte */
    /* Bit 7 of the base, in each byte. It is added by XOR, so that no carry reaches the next byte. */
    uint32_t flip;
    uint16_t rows, head;
    uint32_t count;
} ar_unpack4_params;

void ar_unpack4(const ar_unpack4_params *p);

#endif
