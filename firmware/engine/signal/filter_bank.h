/* The signal operators after the FFT, as in TensorFlow Lite Micro. A channel is the result of one filter. */
#ifndef ARENITE_FILTER_BANK_H
#define ARENITE_FILTER_BANK_H

#include <stdint.h>

#include "channels.h"

typedef struct {
    const uint32_t *input;   /* energies */
    uint64_t *output;        /* [channels] */
    const uint16_t *starts;  /* [channels + 1]: the first energy of each part of the spectrum */
    const uint16_t *counts;  /* [channels + 1]: the energies of each part */
    const uint16_t *weights; /* the share of an energy of part k for channel k - 1 */
    const uint16_t *rests;   /* its share for channel k; 0 if the sum of both shares is always `whole` */
    uint32_t whole;
    uint16_t channels;
} ar_filter_bank_params;

typedef struct {
    const uint64_t *input;     /* [channels] */
    const int32_t *scale_bits; /* by which a root is shifted to the right */
    uint32_t *output;          /* [channels] */
    uint16_t channels;
} ar_filter_bank_root_params;

typedef struct {
    const uint32_t *input; /* [channels] */
    uint32_t *output;      /* [channels]; may be the input */
    uint32_t *noise;       /* [channels]: a copy of the state */
    uint32_t *state;       /* [channels]: the estimate of the noise, which begins with 0 */
    ar_noise settings;
    uint16_t channels;
} ar_filter_bank_noise_params;

typedef struct {
    const uint32_t *input; /* [channels] */
    const uint32_t *noise; /* [channels] */
    uint32_t *output;      /* [channels]; may be the input */
    const int16_t *gains;  /* see channels.h */
    uint16_t channels;
    uint8_t shift;
} ar_filter_bank_gain_params;

typedef struct {
    const uint32_t *input; /* [channels] */
    int16_t *output;       /* [channels] */
    const uint16_t *logs;  /* see channels.h */
    uint32_t scale;
    uint16_t channels;
    uint8_t correction; /* bits by which the input is shifted to the left */
} ar_filter_bank_log_params;

/* Computes the sums of weighted energies. */
void ar_filter_bank(const ar_filter_bank_params *p);

/* Computes square roots. */
void ar_filter_bank_root(const ar_filter_bank_root_params *p);

/* Subtracts the noise. */
void ar_filter_bank_noise(const ar_filter_bank_noise_params *p);

/* Divides by a power of the noise. */
void ar_filter_bank_gain(const ar_filter_bank_gain_params *p);

/* Computes logarithms, at most 32767. */
void ar_filter_bank_log(const ar_filter_bank_log_params *p);

#endif
