/* FFT of real numbers: even and odd numbers are the real and imaginary parts of half as many complex numbers. Radix
 * 2, decimation in time.
 *
 * Only the upper word of a product is used, which is one instruction on most cores. With factors of 31 bits this
 * halves the product, so that no stage overflows. */
#include "audio.h"

typedef struct {
    int32_t re;
    int32_t im;
} number;

/* Returns half the product. Both factors are below 2^31. */
static inline int32_t half_product(int32_t a, int32_t b) { return (int32_t)(((int64_t)a * b) >> 32); }

/* Returns half the product of two complex numbers. */
static inline number half_times(number a, number w)
{
    const number product = {half_product(a.re, w.re) - half_product(a.im, w.im),
                            half_product(a.re, w.im) + half_product(a.im, w.re)};
    return product;
}

/* Returns exp(-2 pi i n / length) for 0 <= n < length / 2. */
static inline number turn(const int32_t *sines, uint32_t length, uint32_t n)
{
    const uint32_t quarter = length / 4;
    if (n <= quarter) {
        const number low = {sines[quarter - n], -sines[n]};
        return low;
    }
    const number high = {-sines[n - quarter], -sines[2 * quarter - n]};
    return high;
}

/* Replaces a and b by half their sum and half their difference. `half_b` is b / 2. */
static inline void cross(number *a, number *b, number half_b)
{
    const int32_t re = a->re >> 1;
    const int32_t im = a->im >> 1;
    a->re = re + half_b.re;
    a->im = im + half_b.im;
    b->re = re - half_b.re;
    b->im = im - half_b.im;
}

void ar_fft(int32_t *values, uint32_t length, const int32_t *sines)
{
    number *z = (number *)values;
    const uint32_t half = length / 2;
    for (uint32_t size = 1; size < half; size *= 2) {
        const uint32_t stride = half / size; /* step in the table of sines, which is for `length` */
        for (uint32_t k = 0; k < half; k += 2 * size) {
            const number half_b = {z[k + size].re >> 1, z[k + size].im >> 1};
            cross(&z[k], &z[k + size], half_b);
        }
        for (uint32_t j = 1; j < size; j++) {
            const number w = turn(sines, length, j * stride);
            for (uint32_t k = j; k < half; k += 2 * size) {
                cross(&z[k], &z[k + size], half_times(z[k + size], w));
            }
        }
    }
    /* Separate the spectra of the even and the odd numbers. The spectrum of the odd numbers is rotated and added. */
    const number first = z[0];
    z[0].re = first.re + first.im;
    z[0].im = 0;
    z[half].re = first.re - first.im;
    z[half].im = 0;
    for (uint32_t k = 1; k <= half / 2; k++) {
        const number a = z[k];
        const number b = z[half - k];
        const number even = {(a.re + b.re) >> 1, (a.im - b.im) >> 1};
        const number odd = {a.im + b.im, b.re - a.re};
        const number turned = half_times(odd, turn(sines, length, k));
        z[half - k].re = even.re - turned.re;
        z[half - k].im = turned.im - even.im;
        z[k].re = even.re + turned.re;
        z[k].im = even.im + turned.im;
    }
}
