/* SHA-256 for the test device, in the shortest form. */
#ifndef ARENITE_TEST_SHA256_H
#define ARENITE_TEST_SHA256_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static uint32_t sha256_rotate(uint32_t x, uint32_t n) { return x >> n | x << (32 - n); }

/* Returns the first 32 bits behind the point of the square (or cube) root of a prime. */
static uint32_t sha256_fraction(uint32_t prime, int is_cube)
{
    const long double root = is_cube ? cbrtl((long double)prime) : sqrtl((long double)prime);
    return (uint32_t)((root - floorl(root)) * 4294967296.0L);
}

static void sha256(const uint8_t *data, uint32_t bytes, uint8_t *hash)
{
    uint32_t k[64], h[8], w[64], count = 0;
    for (uint32_t n = 2; count < 64; n++) {
        uint32_t divisor = 2;
        while (n % divisor) {
            divisor++;
        }
        if (divisor == n) {
            if (count < 8) {
                h[count] = sha256_fraction(n, 0);
            }
            k[count++] = sha256_fraction(n, 1);
        }
    }
    const uint32_t blocks = (bytes + 72) / 64;
    for (uint32_t block = 0; block < blocks; block++) {
        for (uint32_t i = 0; i < 64; i++) {
            const uint32_t at = block * 64 + i;
            uint32_t byte = at < bytes ? data[at] : at == bytes ? 0x80u : 0;
            if (at + 8 >= blocks * 64) {
                byte = (uint32_t)((uint64_t)bytes * 8 >> 8 * (blocks * 64 - 1 - at)) & 0xFFu;
            }
            w[i / 4] = w[i / 4] << 8 | byte;
        }
        for (uint32_t i = 16; i < 64; i++) {
            const uint32_t a = w[i - 15], b = w[i - 2];
            w[i] = w[i - 16] + w[i - 7] + (sha256_rotate(a, 7) ^ sha256_rotate(a, 18) ^ a >> 3) +
                   (sha256_rotate(b, 17) ^ sha256_rotate(b, 19) ^ b >> 10);
        }
        uint32_t v[8];
        memcpy(v, h, sizeof v);
        for (uint32_t i = 0; i < 64; i++) {
            const uint32_t e = v[4], a = v[0];
            const uint32_t t = v[7] + (sha256_rotate(e, 6) ^ sha256_rotate(e, 11) ^ sha256_rotate(e, 25)) +
                               ((e & v[5]) ^ (~e & v[6])) + k[i] + w[i];
            const uint32_t u = (sha256_rotate(a, 2) ^ sha256_rotate(a, 13) ^ sha256_rotate(a, 22)) +
                               ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
            memmove(v + 1, v, 7 * sizeof *v);
            v[4] += t;
            v[0] = t + u;
        }
        for (uint32_t i = 0; i < 8; i++) {
            h[i] += v[i];
        }
    }
    for (uint32_t i = 0; i < 32; i++) {
        hash[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
    }
}

#endif
