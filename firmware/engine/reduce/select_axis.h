/* Operators along one axis of [outer][axis][inner]: ARG_MAX, ARG_MIN, TOPK_V2 (inner 1), CUMSUM. */
#ifndef ARENITE_SELECT_AXIS_H
#define ARENITE_SELECT_AXIS_H

#include <stdint.h>

/* The index of the first largest, or first smallest, value. */
typedef struct {
    const void *input;
    void *output; /* [outer][inner], int32 or int64 */
    uint32_t outer, axis, inner;
    uint8_t type;        /* of the input: AR_INT8 ... */
    uint8_t index_bytes; /* 4 or 8 */
    uint8_t smallest;
} ar_arg_params;

void ar_arg(const ar_arg_params *p);

/* The k largest values in falling order; equal values are ordered by position. */
typedef struct {
    const void *input; /* [rows][axis] */
    void *values;      /* [rows][k] */
    void *indices;     /* [rows][k], int16 or int32 */
    uint32_t rows, axis, k;
    uint8_t type;       /* of the input */
    uint8_t index_type; /* AR_INT16 or AR_INT32 */
} ar_topk_params;

void ar_topk(const ar_topk_params *p);

/* Sums wrap at the size of the type. */
typedef struct {
    const void *input;
    void *output;
    uint32_t outer, axis, inner;
    uint8_t element;   /* bytes: 4 or 8 */
    uint8_t exclusive; /* 1: a sum does not include its own element */
    uint8_t reverse;
} ar_cumsum_params;

void ar_cumsum(const ar_cumsum_params *p);

#endif
