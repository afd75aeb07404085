/* The check of an ECDSA signature (FIPS 186-5) of a hash with the curve P-256. p256-m does the curve's arithmetic, and
 * refuses numbers that are 0 or too large. */
#include "signature.h"
#include "p256-m.h"

enum { NUMBER_BYTES = 32, SEQUENCE = 0x30, INTEGER = 0x02 };

const uint8_t AR_SIGNATURE_INFO[AR_SIGNATURE_INFO_BYTES] = {
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06,
    0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04};

/* Writes the INTEGER at `at` as 32 bytes, whose end may overlap it. Returns its length with type and length, or 0 if it is
 * negative, too long, not as short as DER demands, or not within `bytes` bytes. */
static uint32_t read_integer(const uint8_t *at, uint32_t bytes, uint8_t number[NUMBER_BYTES])
{
    if (bytes < 3 || at[0] != INTEGER || at[1] == 0 || at[1] > bytes - 2 || at[1] > NUMBER_BYTES + 1) {
        return 0;
    }
    uint32_t count = at[1], missing = NUMBER_BYTES - count;
    at += 2;
    if (at[0] == 0 && count > 1) { /* one zero stands before a number that would look negative */
        if (at[1] < 0x80) {
            return 0;
        }
        at++;
        missing++;
    } else if (at[0] >= 0x80 || count > NUMBER_BYTES) {
        return 0;
    }
    for (uint32_t i = NUMBER_BYTES; i-- > 0;) {
        number[i] = i < missing ? 0 : at[i - missing];
    }
    return count + 2;
}

int ar_signature_check(uint8_t *signature, uint32_t bytes, const uint8_t *public_key, const uint8_t hash[32])
{
    if (bytes < AR_SIGNATURE_MIN_BYTES || bytes > AR_SIGNATURE_MAX_BYTES || signature[0] != SEQUENCE ||
        signature[1] != bytes - 2 || signature[3] > bytes - 7) {
        return 0;
    }
    /* Both numbers are written over the signature, at its end, to save stack: the second one first, which does not touch
     * the first one. */
    uint8_t *numbers = signature + AR_SIGNATURE_MAX_BYTES - 2 * NUMBER_BYTES;
    uint32_t first = signature[3] + 2U, second = bytes - 2 - first;
    return first <= NUMBER_BYTES + 3 &&
           read_integer(signature + 2 + first, second, numbers + NUMBER_BYTES) == second &&
           read_integer(signature + 2, first, numbers) == first &&
           p256_ecdsa_verify(numbers, public_key, hash, 32) == P256_SUCCESS;
}
