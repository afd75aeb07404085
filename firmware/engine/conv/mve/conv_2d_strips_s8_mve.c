/* CONV_2D, int8, for Helium: copies all inputs of a column of outputs to a strip, then multiplies its windows like the
 * pixels of a 1 x 1 convolution. */
#include "conv_2d_s8_mve.h"

#include "strip_s8_mve.h"

void ar_conv_2d_strips_s8_mve(const ar_conv_2d_mve_params *p)
{
    const int32_t run = p->k_w * p->in_c;
    const int32_t strip_rows = (p->out_h - 1) * p->stride_h + p->k_h;
    const int32_t out_bytes = p->out_h * p->out_w * p->gemm.out_c;

    ar_fill_s8_mve(p->patches, p->padding, strip_rows * run);
    for (int32_t b = 0; b < p->batches; b++) {
        const int8_t *image = p->input + b * p->in_h * p->in_w * p->in_c;
        int8_t *out = p->output + b * out_bytes;
        for (int32_t x = 0; x < p->out_w; x++, out += p->gemm.out_c) {
            ar_fill_strip_s8_mve(p, image, x, strip_rows);
            ar_gemm_s8_mve(&p->gemm, p->patches, (uint32_t)(p->stride_h * run), p->out_h, out);
        }
    }
    if (p->act_min > INT8_MIN || p->act_max < INT8_MAX) {
        ar_clamp_s8_mve(p->output, p->act_min, p->act_max, p->batches * out_bytes);
    }
}
