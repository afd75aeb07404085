/* ADD and SUB of int8 tensors with the same shape, for Helium.
 *
 * out = clamp((a * multiplier1 + b * multiplier2 + constant) >> shift), in 32 bits. The generator has compared this
 * with LiteRT's value for all 65,536 pairs of inputs.
 */
#ifndef ARENITE_ADD_S8_MVE_H
#define ARENITE_ADD_S8_MVE_H

#include <stdint.h>

typedef struct {
    const int8_t *input1; /* [count] */
    const int8_t *input2; /* [count] */
    int8_t *output;       /* [count]; may be one of the inputs */
    int32_t multiplier1, multiplier2, constant;
    uint32_t count;
    uint32_t row; /* number of elements of a row */
    uint8_t shift;
    int8_t act_min, act_max; /* outputs are clamped to this range */
} ar_add_mve_params;

void ar_add_s8_mve(const ar_add_mve_params *p);

/* Computes one row of `row` elements, see ar_row_fn in stream.h. `rows` has one row of each input. */
void ar_add_s8_mve_row(const void *params, const int8_t *const *rows, int8_t *out);

#endif
