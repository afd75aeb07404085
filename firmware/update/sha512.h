/* SHA-512 of FIPS 180-4. Data may come in pieces of any length, 2^61 bytes in all. */
#ifndef ARENITE_SHA512_H
#define ARENITE_SHA512_H

#include <stdint.h>

#ifdef AR_UPDATE_P256
#error "A device that checks ECDSA has only SHA-256 (sha2_constants.h)."
#endif

enum { AR_SHA512_BYTES = 64 };

typedef struct {
    uint64_t state[8];
    uint64_t block[16]; /* big-endian words */
    uint64_t bytes;     /* that were added */
} ar_sha512;

void ar_sha512_start(ar_sha512 *hash);
void ar_sha512_add(ar_sha512 *hash, const void *data, uint32_t bytes);
/* Writes the digest. The next call must be ar_sha512_start. */
void ar_sha512_finish(ar_sha512 *hash, uint8_t digest[AR_SHA512_BYTES]);

#endif
