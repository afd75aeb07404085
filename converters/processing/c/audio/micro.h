/* The front end of micro_speech and microWakeWord: window, FFT, filters, square root, noise reduction, gain control
 * and logarithm of 16-bit samples, with the same bytes as the original code.
 *
 * All tables are constant. The caller keeps the estimate of the noise, `channels` numbers that begin with 0, and
 * provides scratch memory: 4 * (fft / 2 + 1) + 8 * channels bytes, aligned to 4. */
#ifndef ARENITE_MICRO_H
#define ARENITE_MICRO_H

#include <stdint.h>

#include "affine.h"
#include "channels.h"

typedef struct {
    const int16_t *window;   /* 2^12 is 1 */
    const int16_t *wave;     /* see fft16.h */
    const uint16_t *count;   /* energies of each of channels + 1 parts of the spectrum */
    const uint16_t *weights; /* share of an energy of part k for channel k - 1; 2^12 is 1 */
    const uint16_t *rests;   /* share for channel k; 0 if it is 2^12 - weight */
    const int16_t *gains;    /* see channels.h; 0 for no gain control */
    const uint16_t *logs;    /* see channels.h; 0 for no logarithm */
    uint32_t samples;        /* samples of a recording */
    uint32_t step;           /* samples from window to window */
    ar_noise noise;
    ar_affine affine;   /* map of features with 16 fractional bits */
    uint16_t frames;    /* windows of a recording */
    uint16_t length;    /* samples of a window */
    uint16_t fft;       /* length of the FFT */
    uint16_t first;     /* index of the first energy of part 0 */
    uint16_t channels;  /* features of a window */
    uint8_t gain_shift; /* see ar_gain_control */
    uint8_t log_shift;
    int8_t correction; /* bits by which the signal is shifted to the left before the logarithm */
} ar_micro;

/* Computes the features of one window, p->channels numbers from 0 to 65535. Samples from `count` on are 0. */
void ar_micro_features(const ar_micro *p, const int16_t *samples, uint32_t count, uint32_t *noise,
                       uint32_t *features, void *scratch);

/* Converts the samples of a window to a row of the tensor; see ar_frame_function of audio_stream.h. `front` is an
 * ar_micro, and `memory` has the estimate of the noise. */
void ar_micro_frame(const void *front, void *memory, const int16_t *frame, void *row, void *scratch);

/* Writes the tensor of a recording to `to`. The `count` samples are padded with zeros, or cut, to p->samples. */
void ar_micro_run(const ar_micro *p, const int16_t *samples, uint32_t count, void *to, void *scratch);

#endif
