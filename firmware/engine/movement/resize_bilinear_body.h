/* The body of RESIZE_BILINEAR. Positions have units of 1/1024 pixel; outputs are rounded to nearest, ties away from
 * zero. The file that includes it defines three macros: RESIZE (the name of the function), VALUE (the type of an
 * element) and SUM (the type in which four weighted elements are added up). */
#include "resize.h"

void RESIZE(const ar_resize_bilinear_params *p)
{
    const int32_t depth = p->depth;
    const int32_t row = p->x.in_size * depth;
    const VALUE *in = p->input;
    VALUE *out = p->output;

    for (uint32_t batch = 0; batch < p->batches; batch++) {
        for (int32_t v = 0; v < p->y.out_size; v++) {
            const ar_resize_point y = ar_resize_at(&p->y, v);
            for (int32_t u = 0; u < p->x.out_size; u++) {
                const ar_resize_point x = ar_resize_at(&p->x, u);
                const VALUE *top = in + y.low * row;
                const VALUE *bottom = in + y.high * row;
                const int32_t w00 = (1024 - y.distance) * (1024 - x.distance);
                const int32_t w10 = y.distance * (1024 - x.distance);
                const int32_t w01 = (1024 - y.distance) * x.distance;
                const int32_t w11 = y.distance * x.distance;
                const int32_t left = x.low * depth;
                const int32_t right = x.high * depth;
                for (int32_t c = 0; c < depth; c++) {
                    const SUM sum = (SUM)top[left + c] * w00 + (SUM)bottom[left + c] * w10 +
                                    (SUM)top[right + c] * w01 + (SUM)bottom[right + c] * w11;
                    *out++ = (VALUE)((sum + (sum > 0 ? 1 << 19 : -(1 << 19))) / (1 << 20));
                }
            }
        }
        in += p->y.in_size * row;
    }
}
