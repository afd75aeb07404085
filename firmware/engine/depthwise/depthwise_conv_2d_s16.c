/* DEPTHWISE_CONV_2D with int16 activations, int8 weights that have a scale per channel, and an int64 accumulator. */
#include "conv_2d.h"

#include "fixed_point.h"

void ar_depthwise_conv_2d_s16(const ar_conv_2d_params *p)
{
    const int16_t *image = p->input;
    const int64_t *bias = p->bias;
    const int32_t *multiplier = p->multiplier;
    int16_t *out = p->output;

    for (int32_t b = 0; b < p->batches; b++) {
        for (int32_t y = 0; y < p->out_h; y++) {
            const int32_t y0 = y * p->stride_h - p->pad_top;
            for (int32_t x = 0; x < p->out_w; x++) {
                const int32_t x0 = x * p->stride_w - p->pad_left;
                for (int32_t c = 0; c < p->out_c; c++) {
                    const int16_t *in = image + c / p->k_c;
                    const int8_t *w = p->weights + c;
                    int64_t acc = bias ? bias[c] : 0;
                    for (int32_t ky = 0; ky < p->k_h; ky++) {
                        const int32_t iy = y0 + ky * p->dilation_h;
                        for (int32_t kx = 0; kx < p->k_w; kx++, w += p->out_c) {
                            const int32_t ix = x0 + kx * p->dilation_w;
                            if (iy >= 0 && iy < p->in_h && ix >= 0 && ix < p->in_w) {
                                acc += *w * in[(iy * p->in_w + ix) * p->in_c];
                            }
                        }
                    }
                    const int32_t scaled = ar_requant_wide(acc, multiplier[c], p->shift[c]);
                    *out++ = (int16_t)ar_clamp(scaled, p->act_min, p->act_max);
                }
            }
        }
        image += p->in_h * p->in_w * p->in_c;
    }
}
