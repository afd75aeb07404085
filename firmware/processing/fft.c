/* FFT of real numbers: even and odd ones are the parts of half as many complex ones. Radix 2, decimation in time. */
#include "audio.h"

typedef struct {
    int32_t re;
    int32_t im;
} number;

/* exp(-2 pi i n / length), 0 <= n < length / 2. */
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

static inline number times(number a, number b)
{
    const int64_t half = 1 << 29;
    const number product = {(int32_t)(((int64_t)a.re * b.re - (int64_t)a.im * b.im + half) >> 30),
                            (int32_t)(((int64_t)a.re * b.im + (int64_t)a.im * b.re + half) >> 30)};
    return product;
}

static inline int32_t half_of(int32_t sum) { return (sum + 1) >> 1; }

/* One end of the pair k, half - k: the parts of the real series' spectrum that are even and odd, put together. */
static inline number joined(number a, number b, number w)
{
    const number even = {half_of(a.re + b.re), half_of(a.im - b.im)};
    const number odd = {half_of(a.im + b.im), half_of(b.re - a.re)};
    const number turned = times(odd, w);
    const number sum = {even.re + turned.re, even.im + turned.im};
    return sum;
}

void ar_fft(int32_t *values, uint32_t length, const int32_t *sines)
{
    number *z = (number *)values;
    const uint32_t half = length / 2;
    for (uint32_t size = 1; size < half; size *= 2) {
        const uint32_t stride = half / size; /* of the sines: a turn of 2 * size is length */
        for (uint32_t j = 0; j < size; j++) {
            const number w = turn(sines, length, j * stride);
            for (uint32_t k = j; k < half; k += 2 * size) {
                const number a = z[k];
                const number b = times(z[k + size], w);
                z[k].re = half_of(a.re + b.re);
                z[k].im = half_of(a.im + b.im);
                z[k + size].re = half_of(a.re - b.re);
                z[k + size].im = half_of(a.im - b.im);
            }
        }
    }
    const number first = z[0];
    for (uint32_t k = 1; k <= half / 2; k++) {
        const number a = z[k];
        const number b = z[half - k];
        z[k] = joined(a, b, turn(sines, length, k));
        z[half - k] = joined(b, a, turn(sines, length, half - k));
    }
    const number minus_one = {-(1 << 30), 0};
    z[half] = joined(first, first, minus_one);
    z[0] = joined(first, first, turn(sines, length, 0));
}
