/* Multiplies an integer by a real scale with 64-bit integers, see real_scale.h. */
#include "real_scale.h"

#include "bits.h"

int32_t ar_scale_real(int64_t x, uint64_t mantissa, int exponent)
{
    const uint64_t a = x < 0 ? (uint64_t)0 - (uint64_t)x : (uint64_t)x;
    if (a == 0) {
        return 0;
    }
    /* The product |x| * mantissa is high * 2^64 + low. It is below 2^106. */
    const uint64_t a_low = (uint32_t)a, a_high = a >> 32;
    const uint64_t m_low = (uint32_t)mantissa, m_high = mantissa >> 32;
    const uint64_t lowest = a_low * m_low;
    const uint64_t middle1 = a_high * m_low + (lowest >> 32);
    const uint64_t middle2 = a_low * m_high + (uint32_t)middle1;
    const uint64_t high = a_high * m_high + (middle1 >> 32) + (middle2 >> 32);
    const uint64_t low = middle2 << 32 | (uint32_t)lowest;

    /* The first rounding rounds the product to 53 bits, ties to even. It removes the `drop` lowest bits. */
    const int a_bits = a_high ? 64 - ar_clz((uint32_t)a_high) : 32 - ar_clz((uint32_t)a);
    const int top = a_bits + 52; /* the position of the product's highest bit is `top` or top - 1 */
    int drop = a_bits - 1;
    drop += (int)((top < 64 ? low >> top : high >> (top - 64)) & 1);
    uint64_t product = low;
    if (drop > 0) {
        product = high << (64 - drop) | low >> drop;
        const uint64_t half = (uint64_t)1 << (drop - 1);
        const uint64_t rest = low & (2 * half - 1);
        product += rest > half || (rest == half && (product & 1));
    }

    /* The second rounding is to an integer, ties away from zero. */
    const int right = -(exponent + drop);
    uint64_t magnitude = INT32_MAX;
    if (right > 54) { /* the result is below one half */
        magnitude = 0;
    } else if (right > 21) { /* otherwise the result is at least 2^31 */
        magnitude = (product + ((uint64_t)1 << (right - 1))) >> right;
        magnitude = magnitude > INT32_MAX ? INT32_MAX : magnitude;
    }
    return x < 0 ? -(int32_t)magnitude : (int32_t)magnitude;
}
