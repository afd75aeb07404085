/* CONV_2D, int8, int4 weights: blocks of 3 (or 2) neighboring pixels are widened, then multiplied with every pair of
 * filters, two weights of a byte at a time. */
#include "conv_2d_w4_dsp.h"

#include "dot_w4_dsp.h"

typedef ar_dot_w4_dsp dot_work;
#define DOT_WORK_MORE , {0, 0, 0}
#define DOT2 ar_dot2_w4_dsp
#define DOT3 ar_dot3_w4_dsp
#define FILTER_WORDS(groups) (2 + (groups))
#define REQUANT_WORDS 3
#define WIDENED(d, odd, pixels) add_up(&(d), &(odd), pixels)

/* Eight times the sum of the widened inputs of each pixel. */
static void add_up(dot_work *d, dot_work *odd, int32_t pixels)
{
    ar_sum8_dsp(d->x, d->groups * 2, pixels, d->sums);
    for (int32_t i = 0; i < pixels; i++) {
        odd->sums[i] = d->sums[i];
    }
}

#include "conv_2d_blocks_dsp.h"

void ar_conv_2d_w4_dsp_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_conv_2d_dsp_params *p = params;
    row_of(p, rows, out, p->in_w, p->out_w);
    ar_clamp_s8(out, p->out_w * p->out_c, p->act_min, p->act_max);
}

void ar_conv_2d_w4_dsp(const ar_conv_2d_dsp_params *p)
{
    const int8_t *image = p->input;
    int8_t *out = p->output;
    const int32_t in_row = p->in_w * p->in_c;
    const int32_t out_row = p->out_w * p->out_c;
    if (p->k_h * p->runs * p->run_width == 1 && p->stride_h == 1 && p->stride_w == 1) {
        /* Rows and images follow each other without a seam. */
        const int32_t pixels = p->batches * p->in_h * p->in_w;
        row_of(p, &image, out, pixels, pixels);
        ar_clamp_s8(out, pixels * p->out_c, p->act_min, p->act_max);
        return;
    }
    for (int32_t b = 0; b < p->batches; b++) {
        for (int32_t y = 0; y < p->out_h; y++) {
            const int8_t *rows[AR_CONV_DSP_ROWS];
            int32_t at = y * p->stride_h - p->pad_top;
            for (int32_t k = 0; k < p->k_h; k++, at += p->dilation_h) {
                rows[k] = at >= 0 && at < p->in_h ? image + at * in_row : 0;
            }
            ar_conv_2d_w4_dsp_row(p, rows, out);
            out += out_row;
        }
        image += p->in_h * in_row;
    }
}
