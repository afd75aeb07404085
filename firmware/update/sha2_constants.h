/* The constants of SHA-512. Their upper halves are those of SHA-256. */
#ifndef ARENITE_SHA2_CONSTANTS_H
#define ARENITE_SHA2_CONSTANTS_H

#include <stdint.h>

extern const uint64_t AR_SHA2_ROUND[80];
extern const uint64_t AR_SHA2_START[8];

#endif
