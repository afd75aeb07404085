/* GATHER, GATHER_ND and ONE_HOT. In GATHER and GATHER_ND, an index outside its dimension is replaced by the nearest
 * valid index. */
#ifndef ARENITE_GATHER_H
#define ARENITE_GATHER_H

#include <stdint.h>

/* The input is [batches][outer][axis][slice], the indices are [batches][index_count], and the output is
 * [batches][outer][index_count][slice]. */
typedef struct {
    const void *input;
    const void *indices;
    void *output;
    uint32_t slice; /* in bytes */
    uint32_t outer, axis, index_count;
    uint16_t batches;
    uint8_t index_bytes; /* 2, 4 or 8, signed */
} ar_gather_params;

void ar_gather(const ar_gather_params *p);

#define AR_GATHER_ND_DIMS 8

/* Each row of `depth` indices selects a slice of the input. */
typedef struct {
    const void *input;
    const void *indices; /* [rows][depth] */
    void *output;        /* [rows][slice] */
    uint32_t slice;      /* in bytes */
    uint32_t rows;
    uint32_t size[AR_GATHER_ND_DIMS];   /* sizes of the input's leading dimensions */
    uint32_t stride[AR_GATHER_ND_DIMS]; /* in bytes, of the same dimensions */
    uint8_t depth;
    uint8_t index_bytes; /* 2, 4 or 8, signed */
} ar_gather_nd_params;

void ar_gather_nd(const ar_gather_nd_params *p);

/* The indices are [outer][inner], and the output is [outer][depth][inner]. */
typedef struct {
    const void *indices;
    const void *on, *off; /* one element each */
    void *output;
    uint32_t outer, depth, inner;
    uint8_t index_bytes; /* 4 or 8, signed */
    uint8_t element;     /* bytes of an element */
} ar_one_hot_params;

void ar_one_hot(const ar_one_hot_params *p);

/* Returns the index at `position`, limited to 0 ... `last`. */
static inline uint32_t ar_index(const void *indices, uint32_t position, uint32_t index_bytes, uint32_t last)
{
    const int64_t value = index_bytes == 2   ? ((const int16_t *)indices)[position]
                          : index_bytes == 4 ? ((const int32_t *)indices)[position]
                                             : ((const int64_t *)indices)[position];
    return value<0 ? 0 : value>(int64_t) last ? last : (uint32_t)value;
}

#endif
