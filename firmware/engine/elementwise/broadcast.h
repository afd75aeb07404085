/* Iterates row by row over up to three inputs whose shapes broadcast to the output's shape.
 *
 * The generator has already merged neighboring dimensions, so that equal shapes and scalars are a single row,
 * and a vector along the channels is one row per pixel.
 */
#ifndef ARENITE_BROADCAST_H
#define ARENITE_BROADCAST_H

#include <stdint.h>

#define AR_BROADCAST_OUTER 5 /* the largest number of dimensions outside a row */

typedef struct {
    const int32_t
        *outer;     /* [outer_count][4], fastest first: size, then the bytes added to the address of each
                            * input when the dimension advances and all faster ones restart */
    uint32_t inner; /* elements of a row */
    uint8_t outer_count;
    uint8_t inner_step
        [3]; /* per input: 1 if it advances along a row, 0 if one element is used for the whole row */
} ar_broadcast;

typedef struct {
    const void *in[3]; /* the start of the current row of each input; before the first row, the inputs */
    uint32_t index[AR_BROADCAST_OUTER];
} ar_rows;

static inline void ar_rows_start(ar_rows *rows, const void *a, const void *b, const void *c)
{
    rows->in[0] = a;
    rows->in[1] = b;
    rows->in[2] = c;
    for (uint32_t d = 0; d < AR_BROADCAST_OUTER; d++) {
        rows->index[d] = 0;
    }
}

/* Advances to the next row. Returns 0 after the last one. */
int ar_rows_next(ar_rows *rows, const ar_broadcast *shape);

#endif
