/* The kernel of all operators that only move elements, see strided_copy.h. */
#include "strided_copy.h"

#include "copy.h"

static void copy_piece(const ar_copy_piece *p)
{
    const uint8_t *in = p->input;
    uint8_t *out = p->output;
    uint32_t index[AR_COPY_DIMS] = {0};
    uint32_t k;

    do {
        const ar_copy_dim *d = p->dims;
        for (uint32_t i = 0; i < d->count; i++) {
            ar_copy_bytes(out, in, p->run);
            in += d->in_stride;
            out += d->out_stride;
        }
        /* Go back to the start of each finished dimension, and advance the first unfinished one by a step. */
        for (k = 1; k < p->rank; k++) {
            in -= d->in_stride * (int32_t)d->count;
            out -= d->out_stride * (int32_t)d->count;
            d++;
            in += d->in_stride;
            out += d->out_stride;
            if (++index[k] < d->count) {
                break;
            }
            index[k] = 0;
        }
    } while (k < p->rank);
}

void ar_strided_copy(const ar_strided_copy_params *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        copy_piece(&p->pieces[i]);
    }
}
