#include "sha256.h"

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t ROUND[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

/* The same of the square roots of the first 8 primes. */
static const uint32_t START[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

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
        uint32_t first =
            work[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice + ROUND[round] + w[i];
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
        hash->state[i] = START[i];
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
