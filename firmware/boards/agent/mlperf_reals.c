/* Quantizes inputs that are sent as floats, and scores a model that reproduces its input, as the official firmware for
 * anomaly detection does. The code uses only integers, because a core without an FPU would need a float library.
 */
#include "agent.h"

typedef union {
    float real;
    uint32_t bits;
} real_bits;

/* Returns the bits of the float at `from`, which need not be aligned. */
static uint32_t bits_at(const uint8_t *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static int32_t exponent_of(uint32_t bits) { return (int32_t)(bits >> 23 & 255u) - 127; }

static uint32_t mantissa_of(uint32_t bits) { return (bits & 0x7FFFFFu) | 0x800000u; }

/* Returns round(value / scale) of two floats, which are given as their bits. The quotient is rounded to 24 bits with
 * ties to even, as a float division does, and then to an integer with ties away from zero, as round() does. A quotient
 * beyond +-2^20 gives some number of that size, because the caller limits it to int8. */
static int32_t quotient(uint32_t value, uint32_t scale)
{
    int32_t exponent = exponent_of(value) - exponent_of(scale);
    if (exponent_of(value) == -127 || exponent < -3) {
        return 0; /* zero, subnormal, or a quotient below a quarter */
    }
    if (exponent > 20) {
        exponent = 20;
    }
    const uint32_t divisor = mantissa_of(scale);
    const uint64_t dividend = (uint64_t)mantissa_of(value) << 26;
    uint32_t digits =
        (uint32_t)(dividend /
                   divisor); /* 26 or 27 bits; the highest one is worth 2^(exponent - 1) or 2^exponent */
    const uint32_t rest = dividend - (uint64_t)digits * divisor != 0;
    uint32_t extra = 3; /* number of bits beyond 24 */
    if (digits >> 26 == 0) {
        extra = 2;
        exponent--;
    }
    const uint32_t low = digits & ((1u << extra) - 1), half = 1u << (extra - 1);
    digits >>= extra;
    digits += low > half || (low == half && (rest || (digits & 1u)));
    /* The quotient is digits * 2^(exponent - 23), so it has at least three fraction bits. */
    const uint32_t point = (uint32_t)(23 - exponent);
    const int32_t size = (int32_t)(((uint64_t)digits + ((uint64_t)1 << (point - 1))) >> point);
    return value >> 31 ? -size : size;
}

void ar_quantize_reals(int8_t *to, const uint8_t *from, const ar_reals *reals)
{
    const real_bits scale = {reals->scale};
    for (uint32_t i = 0; i < reals->count; i++) {
        const int32_t value = quotient(bits_at(from + 4 * i), scale.bits) + reals->zero_point;
        to[i] = (int8_t)(value < -128 ? -128 : value > 127 ? 127 : value);
    }
}

/* Returns a real number in units of 2^-20, truncated and limited to +-1024. */
static int32_t fixed(uint32_t bits)
{
    const int32_t exponent = exponent_of(bits);
    const int32_t size = exponent < -20   ? 0
                         : exponent >= 10 ? 1 << 30
                         : exponent > 3   ? (int32_t)(mantissa_of(bits) << (exponent - 3))
                                          : (int32_t)(mantissa_of(bits) >> (3 - exponent));
    return bits >> 31 ? -size : size;
}

uint64_t ar_score(const uint8_t *input, const int8_t *output, const ar_monitor *monitor)
{
    const uint32_t count = monitor->reals->count;
    uint64_t sum = 0; /* sum of the squared errors, in units of 2^-32 */
    for (uint32_t i = 0; i < count; i++) {
        /* `real` and `error` are in units of 2^-20, because 1000 * 2^16 * 2 / 125 = 2^20. */
        const int64_t real = (output[i] - monitor->zero_point) * monitor->scale_thousandths_q16 * 2 / 125;
        const int64_t error = real - fixed(bits_at(input + 4 * i));
        sum += (uint64_t)(error * error) >> 8;
    }
    return (sum / count * 1000 + 0x80000000u) >> 32;
}
