/* The steps of the micro front end after its FFT. A channel is the result of one filter. */
#ifndef ARENITE_CHANNELS_H
#define ARENITE_CHANNELS_H

#include <stdint.h>

/* Returns the number of bits of x; 0 for 0. */
static inline int ar_bits32(uint32_t x)
{
#if defined(__GNUC__)
    return x ? 32 - __builtin_clz(x) : 0;
#else
    int n = 0;
    while (x) {
        x >>= 1;
        n++;
    }
    return n;
#endif
}

/* Returns the square root, rounded, but at most 65535 for x below 2^32, and at most 2^32 - 1. */
uint32_t ar_rounded_root(uint64_t x);

/* Coefficients of noise reduction. 2^bits is 1, except for smoothing_bits. */
typedef struct {
    uint32_t smoothing[2]; /* share of the signal in the new estimate: even and odd channels */
    uint32_t keeping[2];   /* share of the old estimate */
    uint32_t min_remaining;
    uint8_t bits;
    uint8_t smoothing_bits; /* additional fractional bits of the estimate */
    uint8_t clamp;          /* whether an estimate above the signal is lowered to the signal */
} ar_noise;

/* Subtracts the noise from each channel: out may be in. `estimate` is kept from window to window; it begins with 0. */
void ar_noise_reduce(const ar_noise *p, uint32_t channels, const uint32_t *in, uint32_t *out,
                     uint32_t *estimate);

/* Divides each channel by a power of the noise: out may be in. `gains` has the gains for 0 and 1, then 4 numbers for
 * each further bit length of the noise. `shift` leads from the product of signal and gain to 12 fractional bits. */
void ar_gain_control(const int16_t *gains, uint32_t shift, uint32_t channels, const uint32_t *in,
                     const uint32_t *estimate, uint32_t *out);

/* Returns scale * ln(x), rounded, for x of 2 or more; 0 for 0 and 1. `table` has log2(1 + k / 128) - k / 128, with 16
 * fractional bits, for k from 0 to 128. */
uint32_t ar_scaled_log(const uint16_t *table, uint32_t scale, uint32_t x);

#endif
