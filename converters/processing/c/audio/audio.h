/* Sound to a tensor: frames, window, FFT, filters, logarithm, DCT, quantise. Integers throughout.
 *
 * A frame is windowed and scaled to fill 29 bits; the FFT halves at each stage, so that nothing overflows. The
 * logarithm to base 2 turns every power of two, including the frame's scale, into a term. All tables are
 * constant; scratch memory is the caller's: 8 * (fft / 2 + 1) bytes, then 4 * bins, aligned to 8.
 */
#ifndef ARENITE_AUDIO_H
#define ARENITE_AUDIO_H

#include <stdint.h>

#include "affine.h"

enum { AR_PEAK_NONE = 0, AR_PEAK_SIGNED = 1, AR_PEAK_SIZE = 2 };
enum { AR_PAD_NONE = 0, AR_PAD_ZEROS = 1, AR_PAD_REFLECT = 2 };

typedef struct {
    const int32_t *window;   /* [mirror - n] is [n], 1 as 2^31; 0 for none */
    const int32_t *sines;    /* a quarter wave of fft / 4 + 1, 1 as 2^31 */
    const int32_t *logs;     /* log2(1 + k / 128), 30 fractional bits */
    const uint32_t *roots;   /* sqrt(k / 128), 32 <= k <= 128, 1 as 2^31; unused when power is 2 */
    const uint16_t *first;   /* bin of the spectrum that a filter begins at */
    const uint16_t *count;   /* bins of a filter */
    const uint16_t *weights; /* of all filters, one after the other */
    const int32_t *cosines;  /* [features][bins], 1 as 2^30; 0 for no DCT */
    uint32_t samples;        /* of a recording */
    uint32_t step;           /* from frame to frame */
    int32_t lead;            /* samples that the first frame begins before the recording */
    int32_t mantissa;        /* of the logarithm's offset or floor */
    int32_t exponent;        /* the same */
    int32_t base_exponent;   /* of a filter's sum, for a frame that was not scaled */
    int64_t factor;          /* of a logarithm to base 2, 28 fractional bits */
    ar_affine affine;        /* of features with 16 fractional bits */
    uint16_t frames;
    uint16_t length;
    uint16_t mirror;
    uint16_t inset; /* position of a frame in the FFT's input */
    uint16_t fft;
    uint16_t bins;
    uint16_t last_bin; /* one past the last that a filter reads */
    uint16_t features; /* of a frame */
    uint8_t power;
    uint8_t peak;
    uint8_t pad;
    uint8_t is_floor;
} ar_audio;

/* `count` samples: filled up with zeros, or cut, to p->samples. */
void ar_audio_run(const ar_audio *p, const int16_t *samples, uint32_t count, void *to, void *scratch);

/* The FFT of `length` real numbers below 2^29, over length / 2, in place: number n is at
 * 2 * reversed(n / 2) + n % 2, the bits of length / 2 numbers reversed. Complex number k, from 0 to length / 2, comes
 * to 2k, 2k + 1. `sines` as in ar_audio. */
void ar_fft(int32_t *values, uint32_t length, const int32_t *sines);

#endif
