/* Integer division and 64-bit multiplication for compilers whose libgcc lacks them (Debian's xtensa-lx106).
 *
 * Division by zero gives all ones, as RISC-V defines it, instead of trapping.
 */
#include <stdint.h>

uint32_t __udivsi3(uint32_t n, uint32_t d);
uint32_t __umodsi3(uint32_t n, uint32_t d);
int32_t __divsi3(int32_t n, int32_t d);
int32_t __modsi3(int32_t n, int32_t d);
int64_t __muldi3(int64_t a, int64_t b);
uint64_t __umulsidi3(uint32_t a, uint32_t b);
uint64_t __udivdi3(uint64_t n, uint64_t d);
uint64_t __umoddi3(uint64_t n, uint64_t d);
int64_t __divdi3(int64_t n, int64_t d);
int64_t __moddi3(int64_t n, int64_t d);

/* Returns the quotient and stores the remainder. Computes one bit per step. */
static uint32_t divide32(uint32_t n, uint32_t d, uint32_t *remainder)
{
    uint32_t quotient = 0, r = 0;
    for (int i = 31; i >= 0; i--) {
        const uint32_t carry = r >> 31;
        r = r << 1 | (n >> i & 1u);
        if (carry || r >= d) {
            r -= d;
            quotient |= (uint32_t)1 << i;
        }
    }
    *remainder = r;
    return quotient;
}

static uint64_t divide64(uint64_t n, uint64_t d, uint64_t *remainder)
{
    uint64_t quotient = 0, r = 0;
    for (int i = 63; i >= 0; i--) {
        const uint64_t carry = r >> 63;
        r = r << 1 | (n >> i & 1u);
        if (carry || r >= d) {
            r -= d;
            quotient |= (uint64_t)1 << i;
        }
    }
    *remainder = r;
    return quotient;
}

static uint32_t magnitude32(int32_t v) { return v < 0 ? 0u - (uint32_t)v : (uint32_t)v; }
static uint64_t magnitude64(int64_t v) { return v < 0 ? 0u - (uint64_t)v : (uint64_t)v; }

uint32_t __udivsi3(uint32_t n, uint32_t d)
{
    uint32_t remainder;
    return divide32(n, d, &remainder);
}

uint32_t __umodsi3(uint32_t n, uint32_t d)
{
    uint32_t remainder;
    divide32(n, d, &remainder);
    return remainder;
}

int32_t __divsi3(int32_t n, int32_t d)
{
    uint32_t remainder;
    const uint32_t q = divide32(magnitude32(n), magnitude32(d), &remainder);
    return (int32_t)((n < 0) != (d < 0) ? 0u - q : q);
}

int32_t __modsi3(int32_t n, int32_t d)
{
    uint32_t remainder;
    divide32(magnitude32(n), magnitude32(d), &remainder);
    return (int32_t)(n < 0 ? 0u - remainder : remainder);
}

uint64_t __udivdi3(uint64_t n, uint64_t d)
{
    uint64_t remainder;
    return divide64(n, d, &remainder);
}

uint64_t __umoddi3(uint64_t n, uint64_t d)
{
    uint64_t remainder;
    divide64(n, d, &remainder);
    return remainder;
}

int64_t __divdi3(int64_t n, int64_t d)
{
    uint64_t remainder;
    const uint64_t q = divide64(magnitude64(n), magnitude64(d), &remainder);
    return (int64_t)((n < 0) != (d < 0) ? 0u - q : q);
}

int64_t __moddi3(int64_t n, int64_t d)
{
    uint64_t remainder;
    divide64(magnitude64(n), magnitude64(d), &remainder);
    return (int64_t)(n < 0 ? 0u - remainder : remainder);
}

/* Multiplies 32 x 32 -> 64 bits with 16-bit halves, because a 64-bit product would call this function. */
uint64_t __umulsidi3(uint32_t a, uint32_t b)
{
    const uint32_t al = a & 0xFFFFu, ah = a >> 16, bl = b & 0xFFFFu, bh = b >> 16;
    const uint32_t low = al * bl;
    const uint32_t first = ah * bl + (low >> 16); /* cannot overflow: (2^16-1)^2 + 2^16-1 < 2^32 */
    const uint32_t second = al * bh + (first & 0xFFFFu);
    const uint32_t high = ah * bh + (first >> 16) + (second >> 16);
    return (uint64_t)high << 32 | (uint32_t)(second << 16 | (low & 0xFFFFu));
}

int64_t __muldi3(int64_t a, int64_t b)
{
    const uint32_t al = (uint32_t)a, bl = (uint32_t)b;
    const uint32_t cross = al * (uint32_t)((uint64_t)b >> 32) + bl * (uint32_t)((uint64_t)a >> 32);
    return (int64_t)(__umulsidi3(al, bl) + ((uint64_t)cross << 32));
}
