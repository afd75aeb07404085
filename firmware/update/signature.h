/* The signatures of update images. A device checks one algorithm, which is chosen when it is built: ECDSA with the curve
 * P-256 and SHA-256 if AR_UPDATE_P256 is defined (p256.c), otherwise Ed25519 (ed25519.c). */
#ifndef ARENITE_SIGNATURE_H
#define ARENITE_SIGNATURE_H

#include <stdint.h>

#ifdef AR_UPDATE_P256
enum {
    AR_SIGNATURE_TLV = 0x22,
    AR_SIGNATURE_MIN_BYTES = 8, /* the signature is two numbers in DER */
    AR_SIGNATURE_MAX_BYTES = 72,
    AR_SIGNATURE_KEY_BYTES = 64, /* both coordinates of the point, big-endian */
    AR_SIGNATURE_INFO_BYTES = 27
};
#else
enum {
    AR_SIGNATURE_TLV = 0x24,
    AR_SIGNATURE_MIN_BYTES = 64,
    AR_SIGNATURE_MAX_BYTES = 64,
    AR_SIGNATURE_KEY_BYTES = 32,
    AR_SIGNATURE_INFO_BYTES = 12
};
#endif

/* The SubjectPublicKeyInfo of X.509 of a key, without the key itself at its end. */
extern const uint8_t AR_SIGNATURE_INFO[AR_SIGNATURE_INFO_BYTES];

/* Returns 1 if the `bytes` bytes at `signature` sign the SHA-256 hash `hash` under `public_key`, else 0. The signature has
 * room for AR_SIGNATURE_MAX_BYTES bytes, which the function may overwrite. */
int ar_signature_check(uint8_t *signature, uint32_t bytes, const uint8_t *public_key, const uint8_t hash[32]);

#endif
