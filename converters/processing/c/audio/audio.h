/* Convert sound to a tensor with integer arithmetic, in these steps: pre-emphasis, frames, window, FFT,
 * filters, logarithm, DCT, quantize.
 *
 * A frame is windowed and scaled to fill 29 bits. Each stage of the FFT halves the values, so that no value
 * overflows. A scale that is a power of two, such as the frame's scale, is added after the logarithm to base 2. All
 * tables are constant. The caller provides scratch memory: 8 * (fft / 2 + 1) bytes, then 4 * bins, aligned to 8.
 */
#ifndef ARENITE_AUDIO_H
#define ARENITE_AUDIO_H

#include <stdint.h>

#include "affine.h"

enum { AR_PEAK_NONE = 0, AR_PEAK_SIGNED = 1, AR_PEAK_SIZE = 2 };
enum { AR_PAD_NONE = 0, AR_PAD_ZEROS = 1, AR_PAD_REFLECT = 2 };

typedef struct {
    const int32_t *window;   /* first half, 2^31 is 1; weight mirror - n equals weight n; 0 for no window */
    const int32_t *sines;    /* a quarter wave of fft / 4 + 1 values, 2^31 is 1 */
    const int32_t *logs;     /* log2(1 + k / 128), 30 fractional bits */
    const uint32_t *roots;   /* sqrt(k / 128), 32 <= k <= 128, 2^31 is 1; not used if power is 2 */
    const uint16_t *first;   /* first bin of the spectrum of each filter */
    const uint16_t *count;   /* number of bins of each filter */
    const uint16_t *weights; /* weights of all filters, one after the other */
    const int32_t *cosines;  /* [features][bins], 2^30 is 1; 0 for no DCT */
    uint32_t samples;        /* samples of a recording */
    uint32_t step;           /* samples from frame to frame */
    int32_t lead;            /* number of samples by which the first frame begins before the recording */
    int32_t mantissa;        /* mantissa of the logarithm's offset or floor */
    int32_t exponent;        /* exponent of the logarithm's offset or floor */
    int32_t base_exponent;   /* exponent of a filter's sum for a frame that was not scaled */
    int64_t factor;          /* multiplies a logarithm to base 2; 28 fractional bits */
    ar_affine affine;        /* map of features with 16 fractional bits */
    uint16_t frames;
    uint16_t length;      /* samples of a frame */
    uint16_t mirror;      /* see `window` */
    uint16_t inset;       /* position of a frame in the FFT's input */
    uint16_t fft;         /* numbers in the FFT's input */
    uint16_t bins;        /* number of filters */
    uint16_t last_bin;    /* last bin that a filter reads, plus 1 */
    uint16_t features;    /* features per frame */
    uint8_t power;        /* 2 for a spectrum of powers, 1 for magnitudes */
    uint8_t peak;         /* AR_PEAK_: what the samples are divided by */
    uint8_t pad;          /* AR_PAD_ */
    uint8_t is_floor;     /* whether `mantissa` and `exponent` are a floor instead of an offset */
    uint16_t preemphasis; /* multiplies the previous sample, 12 fractional bits; 0 for no pre-emphasis */
} ar_audio;

/* Writes the tensor of a recording to `to`. The `count` samples are padded with zeros, or cut, to p->samples. */
void ar_audio_run(const ar_audio *p, const int16_t *samples, uint32_t count, void *to, void *scratch);

/* Converts one frame of p->length samples to a row of p->features: the ar_frame_function of audio_stream.h. `front` is an
 * ar_audio without a peak and without padding at the ends. With pre-emphasis, `memory` is an int32_t, the sample before the
 * frame, and p->step is at most p->length; otherwise `memory` is not used. */
void ar_audio_frame(const void *front, void *memory, const int16_t *frame, void *row, void *scratch);

/* Computes the FFT of `length` real numbers below 2^29, divided by length / 2, in place. Input n is at
 * 2 * reversed(n / 2) + n % 2, where reversed() reverses the bits of an index below length / 2. Complex output k,
 * from 0 to length / 2, is at 2k and 2k + 1. `sines` is that of ar_audio. */
void ar_fft(int32_t *values, uint32_t length, const int32_t *sines);

#endif
