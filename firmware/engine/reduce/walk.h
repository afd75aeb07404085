/* Iterates over up to four collapsed dimensions with strides, the last dimension fastest.
 *
 * The generator merges neighboring dimensions that are walked in the same way, so any tensor of rank eight or less
 * fits.
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

/* Start with {0}: the first element is at offset 0. */
typedef struct {
    uint32_t offset;
    uint32_t index[AR_WALK_DIMS];
} ar_walk;

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
