/* Logarithm and square root by tables with linear interpolation; see logarithm.h. */
#include "logarithm.h"

int32_t ar_log2(const int32_t *table, uint64_t x)
{
    const int whole = ar_bit_length(x) - 1;
    /* The 31 bits below the highest one have two parts: the upper 7 bits are the index of the table, and the other 24
     * bits are used for a linear interpolation. */
    const uint32_t rest = (uint32_t)(whole >= 31 ? x >> (whole - 31) : x << (31 - whole)) & 0x7FFFFFFFu;
    const uint32_t step = rest >> 24;
    const uint32_t part = rest & 0xFFFFFFu;
    const uint32_t rise = (uint32_t)(((uint64_t)(uint32_t)(table[step + 1] - table[step]) * part) >> 24);
    return (int32_t)((uint32_t)whole << AR_LOG2_BITS) + (int32_t)(((uint32_t)table[step] + rise) >> 10);
}

uint32_t ar_root(const uint32_t *table, uint64_t x)
{
    int up = ar_bit_length(x) - 32;
    if (x == 0) {
        return 0;
    }
    up += up & 1;
    /* Shift x by an even number of bits, so that it has 31 or 32 bits. */
    const uint32_t top = (uint32_t)(up >= 0 ? x >> up : x << -up);
    const uint32_t *step = table + (top >> 25) - 32;
    const uint32_t rise = (uint32_t)(((uint64_t)(step[1] - step[0]) * (top & 0x1FFFFFFu)) >> 25);
    return (step[0] + rise) >> (15 - up / 2); /* at most 31 bits; 16 bits for x below 2^32 */
}
