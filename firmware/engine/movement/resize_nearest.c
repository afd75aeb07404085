/* RESIZE_NEAREST_NEIGHBOR. Two tables have the input row and column of each output row and column. */
#include "copy.h"
#include "resize.h"

void ar_resize_nearest(const ar_resize_nearest_params *p)
{
    const uint32_t row = p->in_w * p->pixel;
    const uint8_t *in = p->input;
    uint8_t *out = p->output;

    for (uint32_t batch = 0; batch < p->batches; batch++) {
        for (uint32_t y = 0; y < p->out_h; y++) {
            for (uint32_t x = 0; x < p->out_w; x++) {
                ar_copy_bytes(out, in + p->rows[y] * row + p->columns[x] * p->pixel, p->pixel);
                out += p->pixel;
            }
        }
        in += p->in_h * row;
    }
}
