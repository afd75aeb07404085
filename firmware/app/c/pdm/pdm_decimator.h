/* Turns the bits of a PDM microphone into samples, for chips that cannot: 64 bits give one sample of 16 bits. */
#ifndef ARENITE_PDM_DECIMATOR_H
#define ARENITE_PDM_DECIMATOR_H

#include <stdint.h>

enum { PDM_WORDS = 2 }; /* words of 32 bits per sample */

/* Computes `count` samples of 2 * `count` words. The first bit of a word is its highest one. */
void pdm_decimate(const uint32_t *words, uint32_t count, int16_t *samples);

#endif
