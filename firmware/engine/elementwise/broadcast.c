/* Moves from row to row of inputs that are broadcast, see broadcast.h. */
#include "broadcast.h"

int ar_rows_next(ar_rows *rows, const ar_broadcast *shape)
{
    const int32_t *dim = shape->outer;
    for (uint32_t d = 0; d < shape->outer_count; d++, dim += 4) {
        if (++rows->index[d] < (uint32_t)dim[0]) {
            for (uint32_t k = 0; k < 3; k++) {
                rows->in[k] = (const uint8_t *)rows->in[k] + dim[k + 1];
            }
            return 1;
        }
        rows->index[d] = 0;
    }
    return 0;
}
