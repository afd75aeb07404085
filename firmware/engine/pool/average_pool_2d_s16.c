/* AVERAGE_POOL_2D, int16: the mean of those pixels of the window that are inside the image, rounded to nearest, ties
 * away from zero. */
#include "pool_2d.h"

#include "fixed_point.h"

void ar_average_pool_2d_s16(const ar_pool_2d_params *p)
{
    const int16_t *image = p->input;
    int16_t *out = p->output;

    for (int32_t b = 0; b < p->batches; b++) {
        for (int32_t y = 0; y < p->out_h; y++) {
            for (int32_t x = 0; x < p->out_w; x++) {
                const ar_pool_window w = ar_pool_clip(p, y, x);
                const int32_t count = (w.y1 - w.y0) * (w.x1 - w.x0);
                for (int32_t c = 0; c < p->channels; c++) {
                    int32_t sum = 0;
                    for (int32_t iy = w.y0; iy < w.y1; iy++) {
                        for (int32_t ix = w.x0; ix < w.x1; ix++) {
                            sum += image[(iy * p->in_w + ix) * p->channels + c];
                        }
                    }
                    sum += sum > 0 ? count / 2 : -(count / 2);
                    *out++ = (int16_t)ar_clamp(sum / count, p->act_min, p->act_max);
                }
            }
        }
        image += p->in_h * p->in_w * p->channels;
    }
}
