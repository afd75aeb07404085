/* CONV_2D, int8, with filters of at most 64 values: computes a row of outputs in blocks of 3 pixels. Blocks whose inputs
 * are inside the image are computed in one call; others read a copy of their inputs with padding. */
#include "conv_2d_s8_short_dsp.h"

#include "affine_requant.h"
#include "padded_window_dsp.h"
#include "short_blocks_s8_dsp.h"

#define PIXELS 3 /* of a block */

/* Computes an output row of `out_w` pixels from rows of `in_w` pixels. */
static void compute_row(const ar_conv_2d_short_params *p, const int8_t *const *rows, int8_t *out,
                        int32_t in_w, int32_t out_w)
{
    const int32_t in_c = p->in_c;
    const int32_t out_c = p->out_c;
    const int32_t step = p->stride_w * in_c;
    const int32_t reach = 4 * p->groups + p->rest + 2 * step; /* bytes of a row that a block reads */
    int32_t *const x = p->scratch;
    int8_t *const window = (int8_t *)(x + PIXELS * p->words);
    const int8_t *copies[AR_CONV_SHORT_ROWS];
    int32_t all_rows = 1;
    for (int32_t k = 0; k < p->k_h; k++) {
        copies[k] = window + k * reach;
        all_rows &= rows[k] != 0;
    }
    const int32_t *const end = p->filters + out_c / 2 * (4 + 2 * p->words);
    ar_short_blocks_s8 b = {end,  p->rounding, out_c,     x,      p->filters, out, step,
                            rows, 0,           p->groups, p->k_h, p->rest,    0,   p->words};
    int32_t column = -p->pad_left;
    for (int32_t left = out_w; left > 0; left -= PIXELS * b.blocks) {
        b.offset = column * in_c;
        b.out = out;
        b.blocks = 1;
        /* The bytes in the rows after this block, if it is inside the image. */
        const int32_t after = in_w * in_c - reach - b.offset;
        if (all_rows && b.offset >= 0 && after >= 0 && left >= PIXELS) {
            const int32_t most = after / (PIXELS * step) + 1;
            b.rows = rows;
            b.blocks = left / PIXELS < most ? left / PIXELS : most;
        } else {
            for (int32_t k = 0; k < p->k_h; k++) {
                padded_window(window + k * reach, rows[k], in_c, p->zero_point, in_w, column,
                              2 * p->stride_w + p->k_w);
            }
            b.rows = copies;
            b.offset = 0;
            if (left < PIXELS) {
                b.out = window + p->k_h * reach;
            }
        }
        ar_short_blocks_s8_dsp(&b);
        if (left < PIXELS) {
            __builtin_memcpy(out, b.out, (uint32_t)(left * out_c));
        }
        out += PIXELS * b.blocks * out_c;
        column += PIXELS * b.blocks * p->stride_w;
    }
}

void ar_conv_2d_s8_short_dsp_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_conv_2d_short_params *p = params;
    compute_row(p, rows, out, p->in_w, p->out_w);
    ar_clamp_s8(out, p->out_w * p->out_c, p->act_min, p->act_max);
}

void ar_conv_2d_s8_short_dsp(const ar_conv_2d_short_params *p)
{
    const int8_t *image = p->input;
    int8_t *out = p->output;
    const int32_t in_row = p->in_w * p->in_c;
    if (p->k_h * p->k_w == 1 && p->stride_h == 1 && p->stride_w == 1) {
        /* For 1 x 1 filters at stride 1, all rows of all images are contiguous, so they are computed as one row. */
        const int32_t pixels = p->batches * p->in_h * p->in_w;
        compute_row(p, &image, out, pixels, pixels);
        ar_clamp_s8(out, pixels * p->out_c, p->act_min, p->act_max);
        return;
    }
    for (int32_t b = 0; b < p->batches; b++) {
        for (int32_t y = 0; y < p->out_h; y++) {
            const int8_t *rows[AR_CONV_SHORT_ROWS];
            int32_t at = y * p->stride_h - p->pad_top;
            for (int32_t k = 0; k < p->k_h; k++, at += p->dilation_h) {
                rows[k] = at >= 0 && at < p->in_h ? image + at * in_row : 0;
            }
            ar_conv_2d_s8_short_dsp_row(p, rows, out);
            out += p->out_w * p->out_c;
        }
        image += p->in_h * in_row;
    }
}
