#include "ed25519.h"
#include "sha512.h"
#include "monocypher.h"

/* A function of its own frees the stack of the hash before the curve's arithmetic needs it. */
static void __attribute__((noinline)) challenge(uint8_t reduced[32], const uint8_t *signature,
                                                const uint8_t *public_key, const uint8_t *message)
{
    ar_sha512 hash;
    uint8_t digest[AR_SHA512_BYTES];
    ar_sha512_start(&hash);
    ar_sha512_add(&hash, signature, 32);
    ar_sha512_add(&hash, public_key, 32);
    ar_sha512_add(&hash, message, 32);
    ar_sha512_finish(&hash, digest);
    crypto_eddsa_reduce(reduced, digest);
}

int ar_ed25519_check(const uint8_t signature[64], const uint8_t public_key[32], const uint8_t message[32])
{
    uint8_t reduced[32];
    challenge(reduced, signature, public_key, message);
    return crypto_eddsa_check_equation(signature, public_key, reduced) == 0;
}
