/* The check of an ECDSA signature (FIPS 186-5) of a hash with the curve P-256. p256-m does the curve's arithmetic, and
 * refuses numbers that are 0 or too large. */
#include "signature.h"
#include "p256-m.h"

enum { NUMBER_BYTES = 32, SEQUENCE = 0x30, INTEGER = 0x02 };

const uint8_t AR_SIGNATURE_INFO[AR_SIGNATURE_INFO_BYTES] = {
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06,
    0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04};

/* Writes the INTEGER at `at` as 32 bytes. Returns its length with type and length, or 0 if it is negative, too long, not as
 * short as DER demands, or not within `bytes` bytes. */
static uint32_t read_integer(const uint8_t *at, uint32_t bytes, uint8_t number[NUMBER_BYTES])
{
    if (bytes < 3 || at[0] != INTEGER || at[1] == 0 || at[1] > bytes - 2 || at[1] > NUMBER_BYTES + 1) {
        return 0;
    }
    uint32_t count = at[1], zeros = 0;
    at += 2;
    if (at[0] == 0 && count > 1) { /* one zero stands before a number that would look negative */
        if (at[1] < 0x80) {
            return 0;
        }
        zeros = 1;
    } else if (at[0] >= 0x80 || count > NUMBER_BYTES) {
        return 0;
    }
    for (uint32_t i = 0; i < NUMBER_BYTES; i++) {
        uint32_t missing = NUMBER_BYTES + zeros - count;
        number[i] = i < missing ? 0 : at[i + zeros - missing];
    }
    return count + 2;
}

int ar_signature_check(const uint8_t *signature, uint32_t bytes, const uint8_t *public_key,
                       const uint8_t hash[32])
{
    uint8_t numbers[2 * NUMBER_BYTES];
    if (bytes < AR_SIGNATURE_MIN_BYTES || signature[0] != SEQUENCE || signature[1] != bytes - 2) {
        return 0;
    }
    uint32_t first = read_integer(signature + 2, bytes - 2, numbers);
    if (first == 0) {
        return 0;
    }
    uint32_t second = read_integer(signature + 2 + first, bytes - 2 - first, numbers + NUMBER_BYTES);
    return second != 0 && 2 + first + second == bytes &&
           p256_ecdsa_verify(numbers, public_key, hash, 32) == P256_SUCCESS;
}
