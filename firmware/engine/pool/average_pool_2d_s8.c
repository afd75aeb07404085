/* AVERAGE_POOL_2D, int8: the mean of those pixels of the window that are inside the image, rounded to nearest, ties
 * away from zero. */
#include "pool_2d.h"

#include "fixed_point.h"

/* Returns the output for a sum of `count` pixels. */
static int8_t mean(const ar_pool_2d_params *p, int32_t sum, int32_t count)
{
    sum += sum > 0 ? count / 2 : -(count / 2);
    return (int8_t)ar_clamp(sum / count, p->act_min, p->act_max);
}

void ar_average_pool_2d_s8(const ar_pool_2d_params *p)
{
    const int8_t *image = p->input;
    int8_t *out = p->output;

    for (int32_t b = 0; b < p->batches; b++) {
        for (int32_t y = 0; y < p->out_h; y++) {
            for (int32_t x = 0; x < p->out_w; x++) {
                const ar_pool_window w = ar_pool_clip(p, y, x);
                const int32_t count = (w.y1 - w.y0) * (w.x1 - w.x0);
                for (int32_t c = 0; c < p->channels; c++) {
                    int32_t sum = 0;
                    for (int32_t iy = w.y0; iy < w.y1; iy++) {
                        const int8_t *in = image + (iy * p->in_w + w.x0) * p->channels + c;
                        for (int32_t n = w.x1 - w.x0; n > 0; n--, in += p->channels) {
                            sum += *in;
                        }
                    }
                    *out++ = mean(p, sum, count);
                }
            }
        }
        image += p->in_h * p->in_w * p->channels;
    }
}

void ar_average_pool_2d_s8_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_pool_2d_params *p = params;
    for (int32_t x = 0; x < p->out_w; x++) {
        const ar_pool_window w = ar_pool_clip(p, 0, x);
        for (int32_t c = 0; c < p->channels; c++) {
            int32_t sum = 0, count = 0;
            for (int32_t ky = 0; ky < p->k_h; ky++) {
                if (rows[ky]) {
                    count += w.x1 - w.x0;
                    for (int32_t ix = w.x0; ix < w.x1; ix++) {
                        sum += rows[ky][ix * p->channels + c];
                    }
                }
            }
            *out++ = mean(p, sum, count);
        }
    }
}

void ar_average_pool_2d_s8_add(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_pool_2d_params *p = params;
    for (int32_t c = 0; c < p->channels; c++) {
        const int8_t *in = rows[0] + c;
        int32_t sum = p->sums[c];
        for (int32_t x = p->in_w; x != 0; x--, in += p->channels) {
            sum += *in;
        }
        p->sums[c] = sum;
    }
    if (out) {
        for (int32_t c = 0; c < p->channels; c++) {
            out[c] = mean(p, p->sums[c], p->in_h * p->in_w);
        }
    }
}
