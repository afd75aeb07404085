/* ADD and SUB, int8, as one linear function of both inputs. */
#ifndef ARENITE_ADD_LINEAR_H
#define ARENITE_ADD_LINEAR_H

#include <stdint.h>

/* out = clamp((a * multiplier1 + b * multiplier2 + constant) >> shift). The generator has compared this with LiteRT's
 * result for each of the 65536 pairs of inputs. */
typedef struct {
    const int8_t *input1;
    const int8_t *input2;
    int8_t *output;
    uint32_t count;
    int32_t multiplier1, multiplier2;
    int32_t constant;
    uint8_t shift;
    int8_t act_min, act_max; /* outputs are clamped to this range */
} ar_add_linear_params;

void ar_add_s8_linear(const ar_add_linear_params *p);

/* Computes one row, see ar_row_fn in stream.h. `count` is the number of elements of a row. */
void ar_add_s8_linear_row(const void *params, const int8_t *const *rows, int8_t *out);

/* Compute the same on cores with the DSP extension, for multipliers below 2^23. */
void ar_add_s8_dsp(const ar_add_linear_params *p);
void ar_add_s8_dsp_row(const void *params, const int8_t *const *rows, int8_t *out);

#endif
