/* Iterates row by row over up to three inputs whose shapes are broadcast to the output's shape.
 *
 * The generator has already merged neighboring dimensions. So inputs with equal shapes, or a scalar and another input,
 * are a single row; if an input is a vector along the channels, there is one row per pixel.
 */
#ifndef ARENITE_BROADCAST_H
#define ARENITE_BROADCAST_H

#include <stdint.h>

#define AR_BROADCAST_OUTER 5 /* the largest number of dimensions outside a row */

typedef struct {
    /* [outer_count][4]: for each dimension outside a row, the fastest first, its size and then for each input the bytes
     * that are added to the address when this dimension advances and all faster dimensions restart. */
    const int32_t *outer;
    uint32_t inner; /* elements of a row */
    uint8_t outer_count;
    uint8_t inner_step
        [3]; /* for each input 1 if it advances along a row, or 0 if one element is used for the whole row */
} ar_broadcast;

typedef struct {
    const void *in[3]; /* the address of the current row of each input */
    uint32_t index[AR_BROADCAST_OUTER];
} ar_rows;

/* Starts at the first row of the inputs a, b and c. c is 0 if there are only two inputs. */
static inline void ar_rows_start(ar_rows *rows, const void *a, const void *b, const void *c)
{
    rows->in[0] = a;
    rows->in[1] = b;
    rows->in[2] = c;
    for (uint32_t d = 0; d < AR_BROADCAST_OUTER; d++) {
        rows->index[d] = 0;
    }
}

/* Moves to the next row and returns 1. Returns 0 after the last row. */
int ar_rows_next(ar_rows *rows, const ar_broadcast *shape);

#endif
