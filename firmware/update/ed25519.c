/* The check of an Ed25519 signature (RFC 8032) of a hash. Monocypher does the curve's arithmetic. */
#include "signature.h"
#include "sha512.h"
#include "monocypher.h"

const uint8_t AR_SIGNATURE_INFO[AR_SIGNATURE_INFO_BYTES] = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
                                                            0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};

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

int ar_signature_check(uint8_t *signature, uint32_t bytes, const uint8_t *public_key, const uint8_t hash[32])
{
    uint8_t reduced[32];
    if (bytes != AR_SIGNATURE_MAX_BYTES) {
        return 0;
    }
    challenge(reduced, signature, public_key, hash);
    return crypto_eddsa_check_equation(signature, public_key, reduced) == 0;
}
