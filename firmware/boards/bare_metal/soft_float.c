/* IEEE 754 single precision in integers, for compilers whose libgcc lacks it (Debian's xtensa-lx106).
 *
 * Results are rounded to nearest, ties to even. Subnormals, infinities and NaNs are supported. Floats are passed as
 * their bits, which is how the soft-float ABI passes them.
 */
#include <stdint.h>

uint32_t __addsf3(uint32_t a, uint32_t b);
uint32_t __subsf3(uint32_t a, uint32_t b);
uint32_t __mulsf3(uint32_t a, uint32_t b);
uint32_t __divsf3(uint32_t a, uint32_t b);
uint32_t __floatsisf(int32_t v);
uint32_t __floatunsisf(uint32_t v);
int32_t __fixsfsi(uint32_t a);
uint32_t __fixunssfsi(uint32_t a);

#define SIGN 0x80000000u
#define INFINITE 0x7F800000u
#define QUIET_NAN 0x7FC00000u
#define HIDDEN 0x00800000u

static int is_nan(uint32_t a) { return (a & ~SIGN) > INFINITE; }
static int exponent_of(uint32_t a) { return (int)(a >> 23 & 0xFFu); }

/* Returns `m` shifted right. The lowest bit is set if any bit that was shifted out was set, which is enough for
 * rounding. */
static uint32_t shift_sticky(uint32_t m, int by)
{
    if (by > 31) {
        return m != 0;
    }
    return by == 0 ? m : (m >> by) | (m << (32 - by) != 0);
}

/* Returns the float nearest to m x 2^(exponent - 157). The top bit of m is bit 30 unless m is zero. Exponent 1 is the
 * smallest exponent of a normal number; with a smaller exponent the result is subnormal. */
static uint32_t round_pack(uint32_t sign, int exponent, uint32_t m)
{
    if (exponent < 1) {
        m = shift_sticky(m, 1 - exponent);
        exponent = 0;
    }
    const uint32_t half = m & 0x7Fu;
    m = (m + 0x40u) >> 7;
    if (half == 0x40u) {
        m &= ~1u;
    }
    if (exponent == 0) {
        return sign | m; /* a carry into the hidden bit gives the smallest normal number */
    }
    if (m >> 24) {
        m >>= 1;
        exponent++;
    }
    if (exponent >= 255) {
        return sign | INFINITE;
    }
    return sign | (uint32_t)exponent << 23 | (m & ~HIDDEN);
}

/* Shifts the top bit of a non-zero m to bit 30, and packs the float. */
static uint32_t normalize(uint32_t sign, int exponent, uint32_t m)
{
    if (m == 0) {
        return sign;
    }
    while ((m & 0x40000000u) == 0) {
        m <<= 1;
        exponent--;
    }
    return round_pack(sign, exponent, m);
}

/* Returns the fraction, with its top bit at bit 30 for a normal number, and stores its exponent. */
static uint32_t unpack(uint32_t a, int *exponent)
{
    uint32_t m = (a & 0x007FFFFFu) << 7;
    *exponent = exponent_of(a);
    if (*exponent == 0) {
        *exponent = 1;
    } else {
        m |= HIDDEN << 7;
    }
    return m;
}

/* Like unpack, but also shifts the fraction of a subnormal number up to bit 30. */
static uint32_t unpack_normal(uint32_t a, int *exponent)
{
    uint32_t m = unpack(a, exponent);
    while ((m & 0x40000000u) == 0) {
        m <<= 1;
        (*exponent)--;
    }
    return m;
}

uint32_t __addsf3(uint32_t a, uint32_t b)
{
    if (is_nan(a) || is_nan(b)) {
        return QUIET_NAN;
    }
    if ((a & ~SIGN) < (b & ~SIGN)) {
        const uint32_t larger = b;
        b = a;
        a = larger;
    }
    const uint32_t sign = a & SIGN;
    const int subtract = ((a ^ b) & SIGN) != 0;
    if (exponent_of(a) == 255) {
        return subtract && exponent_of(b) == 255 ? QUIET_NAN : a;
    }
    int ea, eb;
    const uint32_t ma = unpack(a, &ea);
    const uint32_t mb = unpack(b, &eb);
    const uint32_t aligned = shift_sticky(mb, ea - eb);
    if (!subtract) {
        const uint32_t sum = ma + aligned; /* below 2^32: both are below 2^31 */
        return sum >> 31 ? round_pack(sign, ea + 1, shift_sticky(sum, 1)) : normalize(sign, ea, sum);
    }
    const uint32_t difference = ma - aligned;
    return difference == 0 ? 0 : normalize(sign, ea, difference);
}

uint32_t __subsf3(uint32_t a, uint32_t b) { return __addsf3(a, b ^ SIGN); }

uint32_t __mulsf3(uint32_t a, uint32_t b)
{
    const uint32_t sign = (a ^ b) & SIGN;
    if (is_nan(a) || is_nan(b)) {
        return QUIET_NAN;
    }
    const int zero = (a & ~SIGN) == 0 || (b & ~SIGN) == 0;
    if (exponent_of(a) == 255 || exponent_of(b) == 255) {
        return zero ? QUIET_NAN : sign | INFINITE;
    }
    if (zero) {
        return sign;
    }
    int ea, eb;
    const uint64_t product =
        (uint64_t)unpack_normal(a, &ea) * unpack_normal(b, &eb); /* top bit at 60 or 61 */
    const uint32_t m = (uint32_t)(product >> 31) | ((uint32_t)product << 1 != 0);
    return m >> 30 & 1u ? round_pack(sign, ea + eb - 126, m) : normalize(sign, ea + eb - 126, m);
}

uint32_t __divsf3(uint32_t a, uint32_t b)
{
    const uint32_t sign = (a ^ b) & SIGN;
    if (is_nan(a) || is_nan(b)) {
        return QUIET_NAN;
    }
    const int a_infinite = exponent_of(a) == 255, b_infinite = exponent_of(b) == 255;
    const int a_zero = (a & ~SIGN) == 0, b_zero = (b & ~SIGN) == 0;
    if ((a_infinite && b_infinite) || (a_zero && b_zero)) {
        return QUIET_NAN;
    }
    if (a_infinite || b_zero) {
        return sign | INFINITE;
    }
    if (a_zero || b_infinite) {
        return sign;
    }
    int ea, eb;
    uint32_t rest = unpack_normal(a, &ea);
    const uint32_t divisor = unpack_normal(b, &eb);
    uint32_t m = 0;
    for (int i = 0; i < 31; i++) { /* 31 bits of quotient, one per step; the remainder sets the lowest bit */
        m <<= 1;
        if (rest >= divisor) {
            rest -= divisor;
            m |= 1u;
        }
        rest <<= 1;
    }
    return normalize(sign, ea - eb + 127, m | (rest != 0));
}

uint32_t __floatunsisf(uint32_t v)
{
    if (v >> 31) {
        return round_pack(0, 158, shift_sticky(v, 1));
    }
    return normalize(0, 157, v);
}

uint32_t __floatsisf(int32_t v)
{
    return v < 0 ? SIGN | __floatunsisf(0u - (uint32_t)v) : __floatunsisf((uint32_t)v);
}

/* Rounds towards zero. A value out of range becomes the nearest bound, and NaN becomes 0; C defines neither. */
uint32_t __fixunssfsi(uint32_t a)
{
    const int exponent = exponent_of(a);
    if (is_nan(a) || a >> 31 || exponent < 127) {
        return 0;
    }
    if (exponent > 158) {
        return 0xFFFFFFFFu;
    }
    const uint32_t m = HIDDEN | (a & 0x007FFFFFu);
    return exponent >= 150 ? m << (exponent - 150) : m >> (150 - exponent);
}

int32_t __fixsfsi(uint32_t a)
{
    const uint32_t magnitude = __fixunssfsi(a & ~SIGN);
    if (a >> 31) {
        return magnitude > 0x80000000u ? INT32_MIN : (int32_t)(0u - magnitude);
    }
    return magnitude > 0x7FFFFFFFu ? INT32_MAX : (int32_t)magnitude;
}
