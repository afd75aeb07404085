/* Walk over up to three inputs whose shapes broadcast to the output's shape, row by row.
 *
 * The generator has already merged neighbouring dimensions, so that equal shapes and scalars are a single row,
 * and a vector along the channels is one row per pixel.
 */
#ifndef ARENITE_BROADCAST_H
#define ARENITE_BROADCAST_H

#include <stdint.h>

#define AR_BROADCAST_OUTER 5 /* most dimensions outside a row */

typedef struct {
    const int32_t *outer; /* [outer_count][4], fastest first: size, then what is added to the address of each
                            * input (bytes) when the dimension advances and all faster ones start again */
    uint32_t inner;       /* elements of a row */
    uint8_t outer_count;
    uint8_t inner_step
        [3]; /* per input: 1 when it advances along a row, 0 when one element serves the whole row */
} ar_broadcast;

typedef struct {
    const void *in[3]; /* set to the inputs before the first row; then where the row of each input starts */
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

/* Move to the next row; 0 after the last. */
int ar_rows_next(ar_rows *rows, const ar_broadcast *shape);

#endif
