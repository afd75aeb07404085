#include "sha256.h"
#include "sha2_constants.h"

static uint32_t rotate(uint32_t word, unsigned count) { return word >> count | word << (32 - count); }

/* Mixes the block into the state. The schedule of message words replaces the block, 16 words at a time. */
static void mix(ar_sha256 *hash)
{
    uint32_t work[8];
    uint32_t *w = hash->block;
    for (unsigned i = 0; i < 8; i++) {
        work[i] = hash->state[i];
    }
    for (unsigned round = 0; round < 64; round++) {
        unsigned i = round & 15;
        if (round >= 16) {
            uint32_t old = w[(i + 1) & 15], recent = w[(i + 14) & 15];
            w[i] += w[(i + 9) & 15];
            w[i] += rotate(old, 7) ^ rotate(old, 18) ^ old >> 3;
            w[i] += rotate(recent, 17) ^ rotate(recent, 19) ^ recent >> 10;
        }
        uint32_t a = work[0], e = work[4];
        uint32_t choice = (e & work[5]) ^ (~e & work[6]);
        uint32_t majority = (a & work[1]) ^ (a & work[2]) ^ (work[1] & work[2]);
        uint32_t first = work[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice +
                         (uint32_t)(AR_SHA2_ROUND[round] >> AR_SHA2_SHIFT) + w[i];
        uint32_t second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority;
        for (unsigned k = 7; k > 0; k--) {
            work[k] = work[k - 1];
        }
        work[4] += first;
        work[0] = first + second;
    }
    for (unsigned i = 0; i < 8; i++) {
        hash->state[i] += work[i];
    }
}

void ar_sha256_start(ar_sha256 *hash)
{
    for (unsigned i = 0; i < 8; i++) {
        hash->state[i] = (uint32_t)(AR_SHA2_START[i] >> AR_SHA2_SHIFT);
    }
    for (unsigned i = 0; i < 16; i++) {
        hash->block[i] = 0;
    }
    hash->bytes = 0;
}

static void add_byte(ar_sha256 *hash, uint8_t byte)
{
    unsigned at = (unsigned)hash->bytes++ & 63;
    uint32_t *word = &hash->block[at >> 2];
    *word = *word << 8 | byte;
    if (at == 63) {
        mix(hash);
    }
}

void ar_sha256_add(ar_sha256 *hash, const void *data, uint32_t bytes)
{
    const uint8_t *from = data;
    for (uint32_t i = 0; i < bytes; i++) {
        add_byte(hash, from[i]);
    }
}

void ar_sha256_finish(ar_sha256 *hash, uint8_t digest[AR_SHA256_BYTES])
{
    uint64_t bits = hash->bytes << 3;
    add_byte(hash, 0x80);
    while ((hash->bytes & 63) != 56) {
        add_byte(hash, 0);
    }
    for (unsigned shift = 64; shift > 0; shift -= 8) {
        add_byte(hash, (uint8_t)(bits >> (shift - 8)));
    }
    for (unsigned i = 0; i < AR_SHA256_BYTES; i++) {
        digest[i] = (uint8_t)(hash->state[i >> 2] >> (24 - 8 * (i & 3)));
    }
}
