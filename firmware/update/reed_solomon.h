/* The Reed-Solomon code over GF(256) that repairs up to 8 wrong bytes of a block of up to 255 bytes. The last 16 bytes of
 * a block are the parity. The field has the polynomial 0x11D, and the generator has the roots 2^0 to 2^15. */
#ifndef ARENITE_REED_SOLOMON_H
#define ARENITE_REED_SOLOMON_H

#include <stdint.h>

enum { AR_RS_PARITY_BYTES = 16, AR_RS_PARITY_WORDS = 4 };

/* Adds a byte of data. `parity` is 0 at the start, and the parity of the data at the end: the first byte is the most
 * significant one of the first word. */
void ar_rs_add(uint32_t parity[AR_RS_PARITY_WORDS], uint32_t byte);

/* Returns byte `at` of the parity. */
static inline uint8_t ar_rs_parity(const uint32_t parity[AR_RS_PARITY_WORDS], uint32_t at)
{
    return (uint8_t)(parity[at >> 2] >> (24u - 8u * (at & 3u)));
}

/* Repairs a block of `count` bytes, which are `stride` bytes apart. Returns the number of bytes that were wrong, or -1 if
 * there were too many: then nothing is changed. */
int ar_rs_repair(uint8_t *block, uint32_t count, uint32_t stride);

#endif
