/* MAX_POOL_2D, int8. */
#define MAX_POOL ar_max_pool_2d_s8
#define VALUE int8_t
#define VALUE_MIN INT8_MIN

#include "max_pool_2d_body.h"

void ar_max_pool_2d_s8_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_pool_2d_params *p = params;
    for (int32_t x = 0; x < p->out_w; x++) {
        const ar_pool_window w = ar_pool_clip(p, 0, x);
        for (int32_t c = 0; c < p->channels; c++) {
            int32_t largest = INT8_MIN;
            for (int32_t ky = 0; ky < p->k_h; ky++) {
                for (int32_t ix = w.x0; rows[ky] && ix < w.x1; ix++) {
                    const int32_t value = rows[ky][ix * p->channels + c];
                    largest = value > largest ? value : largest;
                }
            }
            *out++ = (int8_t)ar_clamp(largest, p->act_min, p->act_max);
        }
    }
}
