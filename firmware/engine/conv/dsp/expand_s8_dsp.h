/* Widen the inputs of neighboring pixels to int16 for the kernels of dot_s8_dsp.h.
 *
 * For the first pixel, the functions read `groups` groups of four bytes at `offset` in each of `count` rows. The bytes
 * of every further pixel are `step` bytes later. Bytes 0 to 3 of a group become the int16 pairs (0, 2) and (1, 3),
 * because SXTB16 widens a word in this way. The corresponding pairs of all pixels are next to each other in `x`: int16
 * [count * groups * 2][pixels][2]. The input addresses need no alignment.
 */
#ifndef ARENITE_EXPAND_S8_DSP_H
#define ARENITE_EXPAND_S8_DSP_H

#include <stdint.h>

/* Widen the inputs of 3 or 2 pixels; `count` and `groups` are at least 1. Return the address after the last word. */
int32_t *ar_expand3_s8_dsp(int32_t *x, const int8_t *const *rows, int32_t offset, int32_t step, int32_t count,
                           int32_t groups);
int32_t *ar_expand2_s8_dsp(int32_t *x, const int8_t *const *rows, int32_t offset, int32_t step, int32_t count,
                           int32_t groups);

#endif
