/* Reductions along any set of axes. Output k reduces the inputs at offset k of the kept dimensions plus every offset
 * of the folded dimensions. */
#ifndef ARENITE_REDUCE_H
#define ARENITE_REDUCE_H

#include <stdint.h>

#include "walk.h"

/* MEAN, and SUM of int8: a sum of zero-point-corrected inputs, scaled to the output. */
typedef struct {
    const void *input;
    void *output;
    ar_walk_dims kept, folded;
    int32_t multiplier; /* includes 1 / number of folded elements */
    int32_t sum_offset; /* minus the input's zero point, times the number of folded elements */
    int16_t shift;
    int16_t output_offset;
    int16_t low, high; /* saturation of the result */
    int16_t mask;      /* only for s8: -1 reads inputs as signed, 0xFF as unsigned bytes */
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

/* MAX and MIN (also ANY and ALL, for bytes that are 0 or 1). */
void ar_reduce_extreme(const ar_reduce_params *p);

/* For int32: SUM and PROD modulo 2^32, MEAN truncated towards zero. */
void ar_reduce_s32(const ar_reduce_params *p);

/* REDUCE_PROD of quantized values: every product is scaled before the next multiplication. */
typedef struct {
    const void *input;
    void *output;
    ar_walk_dims kept, folded;
    int32_t input_offset, output_offset;
    int32_t multiplier; /* 16 bits: 1.0 is 2^15 */
    int16_t shift;
    uint8_t type; /* AR_INT8 or AR_INT16 */
} ar_reduce_prod_params;

void ar_reduce_prod(const ar_reduce_prod_params *p);

#endif
