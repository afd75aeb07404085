/* SHA-256 of FIPS 180-4. Data may come in pieces of any length. */
#ifndef ARENITE_SHA256_H
#define ARENITE_SHA256_H

#include <stdint.h>

enum { AR_SHA256_BYTES = 32 };

typedef struct {
    uint32_t state[8];
    uint32_t block[16]; /* big-endian words */
    uint64_t bytes;     /* that were added */
} ar_sha256;

void ar_sha256_start(ar_sha256 *hash);
void ar_sha256_add(ar_sha256 *hash, const void *data, uint32_t bytes);
/* Writes the digest. The next call must be ar_sha256_start. */
void ar_sha256_finish(ar_sha256 *hash, uint8_t digest[AR_SHA256_BYTES]);

#endif
