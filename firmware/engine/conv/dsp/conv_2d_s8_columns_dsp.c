/* CONV_2D, int8, for filters 3 taps wide at a horizontal stride of 1: widens the input columns of a block of 3 (or 2)
 * neighboring pixels once, then multiplies them with every pair of filters. A pair is the filters of two output
 * channels, see dot_s8_dsp.h. */
#include "conv_2d_s8_columns_dsp.h"

#include "affine_requant.h"
#include "columns_s8_dsp.h"
#include "dot_s8_dsp.h"

void ar_conv_2d_s8_columns_dsp_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_conv_2d_columns_params *p = params;
    const int32_t in_c = p->in_c;
    const int32_t out_c = p->out_c;
    const int32_t groups = p->k_h * (in_c / 4) * 3;
    int32_t left = p->out_w;
    int32_t *const x = p->scratch;
    const uint32_t zero_point = (uint8_t)p->zero_point * 0x01010101u;
    /* A group of a block has 4 words if all blocks have 2 pixels, otherwise 6. */
    int8_t *padding = (int8_t *)(x + groups * (left == 2 || left == 4 ? 4 : 6));
    for (int32_t i = 0; i < in_c; i += 4, padding += 4) {
        __builtin_memcpy(padding, &zero_point, 4);
    }
    const ar_columns_s8_dsp columns = {x, padding, in_c, p->k_h};
    ar_dot_s8_dsp d = {out, p->requant, p->rounding, p->shift, out_c, x, 0, groups, p->form, p->filters};
    d.end = p->filters + out_c / 2 * (2 + groups * 2);
    const int32_t edge = p->in_w * in_c; /* number of bytes in a row */
    int32_t offset = -p->pad_left * in_c;
    uint32_t missing = p->pad_left; /* see columns_s8_dsp.h */
    while (left > 0) {
        d.out = out;
        if (left == 2 || left == 4) {
            missing |= offset + 4 * in_c > edge ? 2u : 0u;
            ar_columns2_s8_dsp(&columns, rows, offset, missing);
            ar_dot2_s8_dsp(&d);
            out += 2 * out_c;
            offset += 2 * in_c;
            left -= 2;
        } else {
            missing |= offset + 5 * in_c > edge ? 2u : 0u;
            ar_columns3_s8_dsp(&columns, rows, offset, missing);
            ar_dot3_s8_dsp(&d);
            out += 3 * out_c;
            offset += 3 * in_c;
            left -= 3;
        }
        missing = 0;
    }
    ar_clamp_s8(out - p->out_w * out_c, p->out_w * out_c, p->act_min, p->act_max);
}

void ar_conv_2d_s8_columns_dsp(const ar_conv_2d_columns_params *p)
{
    const int8_t *image = p->input;
    int8_t *out = p->output;
    const int32_t in_row = p->in_w * p->in_c;
    for (int32_t b = 0; b < p->batches; b++) {
        for (int32_t y = 0; y < p->out_h; y++) {
            const int8_t *rows[AR_CONV_COLUMNS_ROWS];
            int32_t at = y * p->stride_h - p->pad_top;
            for (int32_t k = 0; k < p->k_h; k++, at += p->dilation_h) {
                rows[k] = at >= 0 && at < p->in_h ? image + at * in_row : 0;
            }
            ar_conv_2d_s8_columns_dsp_row(p, rows, out);
            out += p->out_w * p->out_c;
        }
        image += p->in_h * in_row;
    }
}
