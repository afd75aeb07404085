/* CONV_2D in plain C, with int16 activations, int8 weights with a scale per output channel, and int64 accumulators. */
#include "conv_2d.h"

#include "fixed_point.h"

void ar_conv_2d_s16(const ar_conv_2d_params *p)
{
    const int32_t group_outputs = p->out_c / (p->in_c / p->k_c);
    const int32_t filter_size = p->k_h * p->k_w * p->k_c;
    const int16_t *image = p->input;
    const int64_t *bias = p->bias;
    const int32_t *multiplier = p->multiplier;
    int16_t *out = p->output;

    for (int32_t b = 0; b < p->batches; b++) {
        for (int32_t y = 0; y < p->out_h; y++) {
            const int32_t y0 = y * p->stride_h - p->pad_top;
            for (int32_t x = 0; x < p->out_w; x++) {
                const int32_t x0 = x * p->stride_w - p->pad_left;
                const int8_t *filter = p->weights;
                for (int32_t c = 0; c < p->out_c; c++, filter += filter_size) {
                    const int32_t first = c / group_outputs * p->k_c; /* first input channel of the group */
                    int64_t acc = bias ? bias[c] : 0;
                    for (int32_t ky = 0; ky < p->k_h; ky++) {
                        const int32_t iy = y0 + ky * p->dilation_h;
                        if (iy < 0 || iy >= p->in_h) {
                            continue;
                        }
                        for (int32_t kx = 0; kx < p->k_w; kx++) {
                            const int32_t ix = x0 + kx * p->dilation_w;
                            if (ix < 0 || ix >= p->in_w) {
                                continue;
                            }
                            const int16_t *in = image + (iy * p->in_w + ix) * p->in_c + first;
                            const int8_t *w = filter + (ky * p->k_w + kx) * p->k_c;
                            for (int32_t i = 0; i < p->k_c; i++) {
                                acc += w[i] * in[i];
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
