#include "logarithm.h"

int32_t ar_log2(const int32_t *table, uint64_t x)
{
    const int whole = ar_bit_length(x) - 1;
    /* 31 bits behind the first one: 7 find a step of the table, the others a place on the straight line in it. */
    const uint32_t rest = (uint32_t)(whole >= 31 ? x >> (whole - 31) : x << (31 - whole)) & 0x7FFFFFFFu;
    const uint32_t step = rest >> 24;
    const uint32_t part = rest & 0xFFFFFFu;
    const uint32_t rise = (uint32_t)(((uint64_t)(uint32_t)(table[step + 1] - table[step]) * part) >> 24);
    return (int32_t)((uint32_t)whole << AR_LOG2_BITS) + (int32_t)(((uint32_t)table[step] + rise) >> 10);
}

uint32_t ar_root(uint64_t x)
{
    int up = ar_bit_length(x) - 32;
    if (x == 0) {
        return 0;
    }
    up += up & 1;
    /* 31 or 32 bits, at an even distance from where they were. */
    uint32_t top = (uint32_t)(up >= 0 ? x >> up : x << -up);
    uint32_t root = 0;
    for (uint32_t bit = 1u << 30; bit; bit >>= 2) {
        if (top >= root + bit) {
            top -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    return up >= 0 ? root << (up / 2) : root >> (-up / 2);
}
