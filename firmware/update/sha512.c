#include "sha512.h"
#include "sha2_constants.h"

static uint64_t rotate(uint64_t word, unsigned count) { return word >> count | word << (64 - count); }

/* Mixes the block into the state. The schedule of message words replaces the block, 16 words at a time. */
static void mix(ar_sha512 *hash)
{
    uint64_t work[8];
    uint64_t *w = hash->block;
    for (unsigned i = 0; i < 8; i++) {
        work[i] = hash->state[i];
    }
    for (unsigned round = 0; round < 80; round++) {
        unsigned i = round & 15;
        if (round >= 16) {
            uint64_t old = w[(i + 1) & 15], recent = w[(i + 14) & 15];
            w[i] += w[(i + 9) & 15];
            w[i] += rotate(old, 1) ^ rotate(old, 8) ^ old >> 7;
            w[i] += rotate(recent, 19) ^ rotate(recent, 61) ^ recent >> 6;
        }
        uint64_t a = work[0], e = work[4];
        uint64_t choice = (e & work[5]) ^ (~e & work[6]);
        uint64_t majority = (a & work[1]) ^ (a & work[2]) ^ (work[1] & work[2]);
        uint64_t first =
            work[7] + (rotate(e, 14) ^ rotate(e, 18) ^ rotate(e, 41)) + choice + AR_SHA2_ROUND[round] + w[i];
        uint64_t second = (rotate(a, 28) ^ rotate(a, 34) ^ rotate(a, 39)) + majority;
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

void ar_sha512_start(ar_sha512 *hash)
{
    for (unsigned i = 0; i < 8; i++) {
        hash->state[i] = AR_SHA2_START[i];
    }
    for (unsigned i = 0; i < 16; i++) {
        hash->block[i] = 0;
    }
    hash->bytes = 0;
}

static void add_byte(ar_sha512 *hash, uint8_t byte)
{
    unsigned at = (unsigned)hash->bytes++ & 127;
    uint64_t *word = &hash->block[at >> 3];
    *word = *word << 8 | byte;
    if (at == 127) {
        mix(hash);
    }
}

void ar_sha512_add(ar_sha512 *hash, const void *data, uint32_t bytes)
{
    const uint8_t *from = data;
    for (uint32_t i = 0; i < bytes; i++) {
        add_byte(hash, from[i]);
    }
}

void ar_sha512_finish(ar_sha512 *hash, uint8_t digest[AR_SHA512_BYTES])
{
    uint64_t bits = hash->bytes << 3;
    add_byte(hash, 0x80);
    /* The length has 128 bits. The upper 64 are zero, like the bytes before them. */
    while ((hash->bytes & 127) != 112) {
        add_byte(hash, 0);
    }
    while ((hash->bytes & 127) != 120) {
        add_byte(hash, 0);
    }
    for (unsigned shift = 64; shift > 0; shift -= 8) {
        add_byte(hash, (uint8_t)(bits >> (shift - 8)));
    }
    for (unsigned i = 0; i < AR_SHA512_BYTES; i++) {
        digest[i] = (uint8_t)(hash->state[i >> 3] >> (56 - 8 * (i & 7)));
    }
}
