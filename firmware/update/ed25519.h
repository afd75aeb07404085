/* The check of an Ed25519 signature (RFC 8032). Monocypher does the curve's arithmetic. */
#ifndef ARENITE_ED25519_H
#define ARENITE_ED25519_H

#include <stdint.h>

/* Returns 1 if `signature` is that of the 32 bytes `message` under `public_key`, else 0. */
int ar_ed25519_check(const uint8_t signature[64], const uint8_t public_key[32], const uint8_t message[32]);

#endif
