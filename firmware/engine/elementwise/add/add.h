/* ADD, SUB and SQUARED_DIFFERENCE of quantized values: both inputs are converted to one scale, then combined. */
#ifndef ARENITE_ADD_H
#define ARENITE_ADD_H

#include <stdint.h>

#include "broadcast.h"
#include "fixed_point.h"

typedef struct {
    const void *input1;
    const void *input2;
    void *output;
    ar_broadcast shape;  /* how the inputs are broadcast to the output */
    int32_t multiplier1; /* of input 1; the real multiplier is less than one */
    int32_t multiplier2;
    int32_t output_multiplier; /* of the sum or product of the scaled inputs */
    int16_t offset1;           /* minus the input's zero point */
    int16_t offset2;
    int16_t output_offset;    /* the output's zero point */
    int16_t act_min, act_max; /* outputs are clamped to this range */
    uint8_t shift1;           /* a right shift of input 1 */
    uint8_t shift2;
    uint8_t output_shift; /* a right shift, together with output_multiplier */
    int8_t sign2;         /* 1 to add, -1 to subtract */
} ar_add_params;

void ar_add_s8(const ar_add_params *p);

/* Computes one row of two inputs with the same shape, see ar_row_fn in stream.h. `shape` describes one row. */
void ar_add_s8_row(const void *params, const int8_t *const *rows, int8_t *out);

void ar_add_s16(const ar_add_params *p);

/* For int16 with scales that are powers of two: the inputs are only shifted, and the multipliers are not used. */
void ar_add_pot_s16(const ar_add_params *p);

void ar_squared_difference_s8(const ar_add_params *p);

/* Returns x * multiplier * 2^-(31 + right), rounded twice. */
static inline int32_t ar_scale_down(int32_t x, int32_t multiplier, uint8_t right)
{
    return ar_round_shift(ar_high_mul(x, multiplier), right);
}

/* Returns one output, the sum or difference of a and b. The inputs are shifted left by `left` bits, so that scaling
 * keeps their precision. */
static inline int32_t ar_add_element(const ar_add_params *p, int32_t a, int32_t b, int left)
{
    const int32_t a_scaled = ar_scale_down((a + p->offset1) * (1 << left), p->multiplier1, p->shift1);
    const int32_t b_scaled = ar_scale_down((b + p->offset2) * (1 << left), p->multiplier2, p->shift2);
    const int32_t sum = a_scaled + b_scaled * p->sign2;
    const int32_t scaled = ar_scale_down(sum, p->output_multiplier, p->output_shift);
    return ar_clamp(scaled + p->output_offset, p->act_min, p->act_max);
}

#endif
