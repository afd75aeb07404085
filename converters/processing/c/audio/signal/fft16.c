/* FFT of 16-bit numbers: stages of radix 4, after one of radix 2 if the number of complex numbers is not a power of 4.
 *
 * All numbers are divided by the radix before a stage. After that, the product with the twiddle factor of angle 0,
 * which is 32767 / 32768, is the number itself. Such products are left out. */
#include "fft16.h"

#define HALF (32767 / 2)
#define QUARTER (32767 / 4)

static inline int32_t rounded(int32_t product) { return (int16_t)((product + (1 << 14)) >> 15); }

typedef struct {
    int32_t re;
    int32_t im;
} number;

static inline number scaled(ar_complex16 z, int32_t factor)
{
    const number result = {rounded(z.re * factor), rounded(z.im * factor)};
    return result;
}

static inline number times(number a, int32_t cos, int32_t sin)
{
    const number product = {rounded(a.re * cos - a.im * sin), rounded(a.re * sin + a.im * cos)};
    return product;
}

static inline ar_complex16 stored(int32_t re, int32_t im)
{
    const ar_complex16 z = {(int16_t)re, (int16_t)im};
    return z;
}

/* Replaces four numbers, `size` apart, by their sums. The last three were multiplied by twiddle factors. */
static inline void four(ar_complex16 *z, uint32_t size, number a, number b, number c, number d)
{
    const int32_t far_re = (int16_t)(a.re - c.re), far_im = (int16_t)(a.im - c.im);
    const int32_t near_re = a.re + c.re, near_im = a.im + c.im;
    const int32_t sum_re = b.re + d.re, sum_im = b.im + d.im;
    const int32_t turn_re = b.re - d.re, turn_im = b.im - d.im;
    z[0] = stored(near_re + sum_re, near_im + sum_im);
    z[size] = stored(far_re + turn_im, far_im - turn_re);
    z[2 * size] = stored(near_re - sum_re, near_im - sum_im);
    z[3 * size] = stored(far_re - turn_im, far_im + turn_re);
}

/* The first stage, of radix 2. */
static void first_two(ar_complex16 *z, uint32_t half)
{
    for (uint32_t k = 0; k < half; k += 2) {
        const number a = scaled(z[k], HALF), b = scaled(z[k + 1], HALF);
        z[k] = stored(a.re + b.re, a.im + b.im);
        z[k + 1] = stored(a.re - b.re, a.im - b.im);
    }
}

static void stage(ar_complex16 *z, uint32_t length, uint32_t size, const int16_t *wave)
{
    const uint32_t half = length / 2, quarter = length / 4;
    const uint32_t turn = quarter / size; /* step of the angle in the table */
    for (uint32_t k = 0; k < half; k += 4 * size) {
        ar_complex16 *at = z + k;
        four(at, size, scaled(at[0], QUARTER), scaled(at[size], QUARTER), scaled(at[2 * size], QUARTER),
             scaled(at[3 * size], QUARTER));
    }
    for (uint32_t j = 1; j < size; j++) {
        const int16_t *w = wave + j * turn;
        const int32_t sin1 = -*w, cos1 = w[quarter];
        w += j * turn;
        const int32_t sin2 = -*w, cos2 = w[quarter];
        w += j * turn;
        const int32_t sin3 = -*w, cos3 = w[quarter];
        for (uint32_t k = j; k < half; k += 4 * size) {
            ar_complex16 *at = z + k;
            four(at, size, scaled(at[0], QUARTER), times(scaled(at[size], QUARTER), cos1, sin1),
                 times(scaled(at[2 * size], QUARTER), cos2, sin2),
                 times(scaled(at[3 * size], QUARTER), cos3, sin3));
        }
    }
}

/* Converts the spectrum of the complex numbers to that of the real numbers. */
static void separate(ar_complex16 *z, uint32_t half, const int16_t *wave)
{
    const number first = scaled(z[0], HALF);
    z[0] = stored(first.re + first.im, 0);
    z[half] = stored(first.re - first.im, 0);
    for (uint32_t k = 1; k <= half / 2; k++) {
        const ar_complex16 mirrored = stored(z[half - k].re, -z[half - k].im);
        const number front = scaled(z[k], HALF), back = scaled(mirrored, HALF);
        const int32_t even_re = (int16_t)(front.re + back.re), even_im = (int16_t)(front.im + back.im);
        const number odd = {(int16_t)(front.re - back.re), (int16_t)(front.im - back.im)};
        const number turned = times(odd, -wave[k], -wave[k + half / 2]);
        z[k] = stored((even_re + turned.re) >> 1, (even_im + turned.im) >> 1);
        z[half - k] = stored((even_re - turned.re) >> 1, (turned.im - even_im) >> 1);
    }
}

void ar_fft16(ar_complex16 *z, uint32_t length, const int16_t *wave, int shift)
{
    const uint32_t half = length / 2;
    uint32_t size = 1;
    if (shift) {
        for (uint32_t k = 0; k < half; k++) {
            z[k] = stored(z[k].re * (1 << shift), z[k].im * (1 << shift));
        }
    }
    while (4 * size < half) {
        size *= 4;
    }
    if (4 * size != half) {
        first_two(z, half);
        size = 2;
    } else {
        size = 1;
    }
    for (; size < half; size *= 4) {
        stage(z, length, size, wave);
    }
    separate(z, half, wave);
}
