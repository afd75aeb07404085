/* Operators along one axis of a tensor [outer][axis][inner]: ARG_MAX, ARG_MIN, TOPK_V2 (inner is 1) and CUMSUM. */
#ifndef ARENITE_SELECT_AXIS_H
#define ARENITE_SELECT_AXIS_H

#include <stdint.h>

/* ARG_MAX and ARG_MIN: the output is the index of the first largest or first smallest value. */
typedef struct {
    const void *input;
    void *output; /* [outer][inner], int32 or int64 */
    uint32_t outer, axis, inner;
    uint8_t type;        /* of the input: AR_INT8 ... */
    uint8_t index_bytes; /* 4 or 8 */
    uint8_t smallest;    /* 1: ARG_MIN; 0: ARG_MAX */
} ar_arg_params;

void ar_arg(const ar_arg_params *p);

/* TOPK_V2: the outputs are the k largest values in descending order. Equal values are ordered by position. */
typedef struct {
    const void *input; /* [rows][axis] */
    void *values;      /* [rows][k] */
    void *indices;     /* [rows][k], int16 or int32 */
    uint32_t rows, axis, k;
    uint8_t type;       /* of the input: AR_INT8 ... */
    uint8_t index_type; /* AR_INT16 or AR_INT32 */
} ar_topk_params;

void ar_topk(const ar_topk_params *p);

/* CUMSUM: the sums wrap modulo 2^32 or 2^64. */
typedef struct {
    const void *input;
    void *output;
    uint32_t outer, axis, inner;
    uint8_t element;   /* bytes of an element: 4 or 8 */
    uint8_t exclusive; /* 1: a sum does not include its own element */
    uint8_t reverse;   /* 1: the sums begin at the end of the axis */
} ar_cumsum_params;

void ar_cumsum(const ar_cumsum_params *p);

#endif
