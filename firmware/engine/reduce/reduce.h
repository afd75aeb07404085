/* Reductions along any set of axes. In each structure, `kept` has the dimensions that remain in the output, and
 * `folded` has the dimensions that are reduced. Output number k is computed from the inputs whose offset is the
 * k-th offset of `kept` plus any offset of `folded`. */
#ifndef ARENITE_REDUCE_H
#define ARENITE_REDUCE_H

#include <stdint.h>

#include "walk.h"

/* MEAN, and SUM of int8: each output is the sum of the inputs minus their zero points, scaled to the output. */
typedef struct {
    const void *input;
    void *output;
    ar_walk_dims kept, folded;
    int32_t multiplier; /* for MEAN it includes 1 / number of folded elements */
    int32_t sum_offset; /* minus the input's zero point, times the number of folded elements */
    int16_t shift;
    int16_t output_offset;
    int16_t low, high; /* the range to which the output is clamped */
    int16_t mask;      /* only for s8: -1 reads the inputs as signed bytes, 0xFF as unsigned bytes */
} ar_reduce_mean_params;

void ar_reduce_mean_s8(const ar_reduce_mean_params *p);
void ar_reduce_mean_s16(const ar_reduce_mean_params *p);

enum { AR_FOLD_MAX, AR_FOLD_MIN, AR_FOLD_SUM, AR_FOLD_PROD, AR_FOLD_MEAN };

/* Reductions without scaling. */
typedef struct {
    const void *input;
    void *output;
    ar_walk_dims kept, folded;
    uint8_t fold; /* AR_FOLD_... */
    uint8_t type; /* AR_INT8, AR_INT16, AR_INT32 or AR_BOOL; ar_reduce_s32 takes int32 only */
} ar_reduce_params;

/* REDUCE_MAX and REDUCE_MIN (also REDUCE_ANY and REDUCE_ALL, for bytes that are 0 or 1). */
void ar_reduce_extreme(const ar_reduce_params *p);

/* For int32: SUM and REDUCE_PROD modulo 2^32, and MEAN truncated towards zero. */
void ar_reduce_s32(const ar_reduce_params *p);

/* REDUCE_PROD of quantized values: every product is scaled before the next multiplication. */
typedef struct {
    const void *input;
    void *output;
    ar_walk_dims kept, folded;
    int32_t input_offset, output_offset;
    int32_t multiplier; /* a 16-bit multiplier: 2^15 stands for 1.0 */
    int16_t shift;
    uint8_t type; /* AR_INT8 or AR_INT16 */
} ar_reduce_prod_params;

void ar_reduce_prod(const ar_reduce_prod_params *p);

#endif
