/* RESIZE_BILINEAR, int8: positions in 1/1024 pixels, rounded to nearest, ties away from zero. */
#include "resize.h"

void ar_resize_bilinear_s8(const ar_resize_bilinear_params *p)
{
    const int32_t depth = p->depth;
    const int32_t row = p->x.in_size * depth;
    const int8_t *in = p->input;
    int8_t *out = p->output;

    for (uint32_t batch = 0; batch < p->batches; batch++) {
        for (int32_t v = 0; v < p->y.out_size; v++) {
            const ar_resize_point y = ar_resize_at(&p->y, v);
            for (int32_t u = 0; u < p->x.out_size; u++) {
                const ar_resize_point x = ar_resize_at(&p->x, u);
                const int8_t *top = in + y.low * row;
                const int8_t *bottom = in + y.high * row;
                const int32_t w00 = (1024 - y.distance) * (1024 - x.distance);
                const int32_t w10 = y.distance * (1024 - x.distance);
                const int32_t w01 = (1024 - y.distance) * x.distance;
                const int32_t w11 = y.distance * x.distance;
                const int32_t left = x.low * depth;
                const int32_t right = x.high * depth;
                for (int32_t c = 0; c < depth; c++) {
                    const int32_t sum = top[left + c] * w00 + bottom[left + c] * w10 + top[right + c] * w01 +
                                        bottom[right + c] * w11;
                    *out++ = (int8_t)((sum + (sum > 0 ? 1 << 19 : -(1 << 19))) / (1 << 20));
                }
            }
        }
        in += p->y.in_size * row;
    }
}
