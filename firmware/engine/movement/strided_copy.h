/* The kernel of all operators that only move elements: slices, transposes, concatenations, tiles, padding.
 *
 * A piece copies runs of neighboring bytes. Each dimension repeats the copy with its own stride in the input and in the
 * output. A stride of 0 in the input repeats a value; a negative stride reverses the order.
 */
#ifndef ARENITE_STRIDED_COPY_H
#define ARENITE_STRIDED_COPY_H

#include <stdint.h>

#define AR_COPY_DIMS 8

typedef struct {
    uint32_t count;
    int32_t in_stride, out_stride; /* in bytes */
} ar_copy_dim;

typedef struct {
    const void *input;
    void *output;
    const ar_copy_dim *dims; /* [rank]; the innermost dimension is the first */
    uint32_t run;            /* bytes of a run */
    uint8_t rank;            /* 1 to AR_COPY_DIMS */
} ar_copy_piece;

typedef struct {
    const ar_copy_piece *pieces; /* copied in order: a piece may read what an earlier piece wrote */
    uint16_t count;
} ar_strided_copy_params;

void ar_strided_copy(const ar_strided_copy_params *p);

#endif
