/* The constants of SHA-512. Their upper halves are those of SHA-256. A device that checks ECDSA needs no SHA-512, and has only
 * these halves. */
#ifndef ARENITE_SHA2_CONSTANTS_H
#define ARENITE_SHA2_CONSTANTS_H

#include <stdint.h>

#ifdef AR_UPDATE_P256
typedef uint32_t ar_sha2_constant;
enum { AR_SHA2_ROUNDS = 64, AR_SHA2_SHIFT = 0 };
#else
typedef uint64_t ar_sha2_constant;
enum { AR_SHA2_ROUNDS = 80, AR_SHA2_SHIFT = 32 };
#endif

extern const ar_sha2_constant AR_SHA2_ROUND[AR_SHA2_ROUNDS];
extern const ar_sha2_constant AR_SHA2_START[8];

#endif
