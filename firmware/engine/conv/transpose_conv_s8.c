/* TRANSPOSE_CONV in plain C, with int8 activations, int8 weights with a scale per output channel, and int32
 * accumulators that are scaled with two roundings (ar_requant).
 *
 * For each output pixel, the kernel sums over all input pixels that contribute to it. So it needs no buffer of sums.
 */
#include "conv_2d.h"

#include "conv_output.h"

void ar_transpose_conv_s8(const ar_conv_2d_params *p)
{
    const int32_t filter_size = p->k_h * p->k_w * p->k_c;
    const int8_t *image = p->input;
    int8_t *out = p->output;

    for (int32_t b = 0; b < p->batches; b++) {
        for (int32_t y = 0; y < p->out_h; y++) {
            for (int32_t x = 0; x < p->out_w; x++) {
                const int8_t *filter = p->weights;
                for (int32_t c = 0; c < p->out_c; c++, filter += filter_size) {
                    int32_t acc = ar_conv_bias_s8(p, c);
                    for (int32_t ky = 0; ky < p->k_h; ky++) {
                        /* The input row of this tap, times the stride. If it is not a multiple of the stride, no input
                         * row contributes. Columns are computed in the same way. */
                        const int32_t ty = y + p->pad_top - ky;
                        const int32_t iy = ty / p->stride_h;
                        if (ty < 0 || iy >= p->in_h || iy * p->stride_h != ty) {
                            continue;
                        }
                        for (int32_t kx = 0; kx < p->k_w; kx++) {
                            const int32_t tx = x + p->pad_left - kx;
                            const int32_t ix = tx / p->stride_w;
                            if (tx < 0 || ix >= p->in_w || ix * p->stride_w != tx) {
                                continue;
                            }
                            const int8_t *in = image + (iy * p->in_w + ix) * p->in_c;
                            const int8_t *w = filter + (ky * p->k_w + kx) * p->k_c;
                            for (int32_t i = 0; i < p->k_c; i++) {
                                acc += w[i] * (in[i] + p->input_offset);
                            }
                        }
                    }
                    *out++ = ar_conv_output_s8(p, acc, c);
                }
            }
        }
        image += p->in_h * p->in_w * p->in_c;
    }
}
