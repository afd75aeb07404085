/* FFT of 16-bit numbers. It rounds each product and wraps each sum to 16 bits, so that the result equals that of the
 * FFT with which the models of micro_speech were trained. */
#ifndef ARENITE_FFT16_H
#define ARENITE_FFT16_H

#include <stdint.h>

typedef struct {
    int16_t re;
    int16_t im;
} ar_complex16;

/* Computes the spectrum of `length` real numbers, divided by `length`, in place. First, all numbers are shifted to the
 * left by `shift` bits.
 *
 * Even and odd numbers are the real and imaginary parts of length / 2 complex numbers, in the order of
 * ar_fft16_next. The result has length / 2 + 1 numbers. `length` is a power of two from 32 on. `wave` has
 * sin(2 pi k / length) for k < length, where 32767 is 1. */
void ar_fft16(ar_complex16 *z, uint32_t length, const int16_t *wave, int shift);

/* Returns the position of complex number n + 1, if `at` is that of number n, which is not the last one. Number 0 is at
 * position 0. `half` is the number of complex numbers. */
static inline uint32_t ar_fft16_next(uint32_t at, uint32_t half)
{
    uint32_t digit = half / 4; /* a counter whose digits, of 2 bits, are reversed */
    while (digit && (at & (3 * digit)) == 3 * digit) {
        at -= 3 * digit;
        digit /= 4;
    }
    return at + (digit ? digit : 1);
}

#endif
