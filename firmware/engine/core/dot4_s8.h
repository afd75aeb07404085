/* Four sums of products with the same inputs, in plain C: the inner loop of convolutions and of fully connected layers. */
#ifndef ARENITE_DOT4_S8_H
#define ARENITE_DOT4_S8_H

#include <stdint.h>

enum { AR_DOTS = 4 };

/* Adds the sum of w[i] * (in[i] + offset) over `length` inputs, 1 or more, to sums[0], and the same with the weights that are
 * `next`, 2 * `next` and 3 * `next` bytes behind `w` to the other sums. If `next` is 0, all sums are those of `w`. */
void ar_dot4_s8(const int8_t *in, const int8_t *w, int32_t next, int32_t length, int32_t offset,
                int32_t *sums);

#endif
