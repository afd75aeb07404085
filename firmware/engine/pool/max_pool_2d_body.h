/* The body of MAX_POOL_2D. The file that includes it defines three macros: MAX_POOL (the name of the function),
 * VALUE (the type of an element) and VALUE_MIN (the smallest value of that type). */
#include "fixed_point.h"
#include "pool_2d.h"

void MAX_POOL(const ar_pool_2d_params *p)
{
    const VALUE *image = p->input;
    VALUE *out = p->output;

    for (int32_t b = 0; b < p->batches; b++) {
        for (int32_t y = 0; y < p->out_h; y++) {
            for (int32_t x = 0; x < p->out_w; x++) {
                const ar_pool_window w = ar_pool_clip(p, y, x);
                for (int32_t c = 0; c < p->channels; c++) {
                    int32_t largest = VALUE_MIN;
                    for (int32_t iy = w.y0; iy < w.y1; iy++) {
                        for (int32_t ix = w.x0; ix < w.x1; ix++) {
                            const int32_t value = image[(iy * p->in_w + ix) * p->channels + c];
                            largest = value > largest ? value : largest;
                        }
                    }
                    *out++ = (VALUE)ar_clamp(largest, p->act_min, p->act_max);
                }
            }
        }
        image += p->in_h * p->in_w * p->channels;
    }
}
