/* Multiplies one row of int16 inputs with the int8 weights of four units, on cores with the DSP extension.
 *
 * A quad is the filters of four units. It begins with four words, at which the sums start. Then, for every four inputs,
 * there is a word of each unit with its weights in the order 0, 2, 1, 3: SXTB16 widens the weights of the first two
 * inputs, and after a rotation those of the other two. Weights of zero fill up the inputs to a multiple of eight; eight
 * inputs are a group. */
#ifndef ARENITE_ROW_DOT4_S16_DSP_H
#define ARENITE_ROW_DOT4_S16_DSP_H

#include <stdint.h>

/* Writes the four sums of a quad, modulo 2^32. Returns the end of the quad. `x` is int16 [8 * groups], aligned to four
 * bytes; `groups` is at least 1. */
const int32_t *ar_row_dot4_s16_dsp(int32_t *sums, const int32_t *x, const int32_t *quad, uint32_t groups);

#endif
