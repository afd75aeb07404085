/* The signal operators from samples to the energies of a spectrum, as in TensorFlow Lite Micro. */
#ifndef ARENITE_SPECTRUM_H
#define ARENITE_SPECTRUM_H

#include <stdint.h>

#include "fft16.h"

typedef struct {
    const int16_t *input;   /* [rows][length] */
    int16_t *output;        /* may be the input */
    const int16_t *weights; /* [length] */
    uint32_t rows;
    uint16_t length;
    uint8_t shift; /* by which a product is shifted to the right */
} ar_signal_window_params;

typedef struct {
    const int16_t *input;
    int16_t *output;     /* may be the input */
    int32_t *scale_bits; /* the shift */
    uint32_t count;
} ar_signal_scale_params;

typedef struct {
    const int16_t *input; /* [rows][length] */
    ar_complex16 *output; /* [rows][fft / 2 + 1] */
    const int16_t *wave;  /* see fft16.h */
    uint32_t rows;
    uint16_t length; /* samples of a row; zeros follow up to fft */
    uint16_t fft;
} ar_signal_rfft_params;

typedef struct {
    const ar_complex16 *input;
    uint32_t *output; /* may be the input */
    uint32_t count;
    uint32_t start, end; /* the energies from `start` to before `end` are computed, the others are 0 */
} ar_signal_energy_params;

/* Multiplies samples by the weights of a window. */
void ar_signal_window(const ar_signal_window_params *p);

/* Shifts samples to the left, so that the largest one has 15 bits. */
void ar_signal_scale(const ar_signal_scale_params *p);

/* Computes the spectra of real numbers. */
void ar_signal_rfft(const ar_signal_rfft_params *p);

/* Computes the squared magnitudes of complex numbers. */
void ar_signal_energy(const ar_signal_energy_params *p);

#endif
