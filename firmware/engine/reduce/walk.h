/* Iterates over the elements of up to four dimensions with strides. The last dimension changes fastest.
 *
 * The generator merges neighboring dimensions that are iterated over in the same way, so four are enough for any
 * tensor of rank eight or less.
 */
#ifndef ARENITE_WALK_H
#define ARENITE_WALK_H

#include <stdint.h>

#define AR_WALK_DIMS 4

typedef struct {
    uint32_t count;                /* product of the sizes */
    uint32_t size[AR_WALK_DIMS];   /* 1 if unused */
    uint32_t stride[AR_WALK_DIMS]; /* in elements */
} ar_walk_dims;

/* The position of an iteration. Initialize it with {0}: the first element is at offset 0. */
typedef struct {
    uint32_t offset; /* of the current element, in elements */
    uint32_t index[AR_WALK_DIMS];
} ar_walk;

/* Moves to the next element; from the last element to the first. */
static inline void ar_walk_next(ar_walk *w, const ar_walk_dims *d)
{
    for (int k = AR_WALK_DIMS - 1; k >= 0; k--) {
        w->offset += d->stride[k];
        if (++w->index[k] < d->size[k]) {
            return;
        }
        w->offset -= d->stride[k] * d->size[k];
        w->index[k] = 0;
    }
}

#endif
