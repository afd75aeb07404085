/* CONV_2D, int8, for Helium: windows are copied side by side, and multiplied as pixels of one tap are. */
#include "conv_2d_s8_mve.h"

#include "vector_s8_mve.h"

/* The windows of outputs x to x + count - 1 of a row. */
static void fill_patches(const ar_conv_2d_mve_params *p, const int8_t *const *rows, int32_t x, int32_t count)
{
    const int32_t in_c = p->in_c;
    const int32_t run = p->k_w * in_c;
    int8_t *to = p->patches;

    for (; count > 0; count--, x++) {
        const int32_t first = x * p->stride_w - p->pad_left;
        const int32_t past = first + p->k_w - p->in_w;
        const int32_t from = first * in_c; /* alone it may lie before the row */
        const int32_t left = first >= 0 ? 0 : first <= -p->k_w ? run : -from;
        const int32_t right = past <= 0 ? 0 : past >= p->k_w ? run : past * in_c;
        for (int32_t k = 0; k < p->k_h; k++, to += run) {
            const int8_t *row = rows[k];
            if (row == 0 || left + right != 0) {
                ar_fill_s8_mve(to, p->padding, run);
            }
            if (row != 0 && left + right < run) {
                ar_copy_s8_mve(to + left, row + (from + left), run - left - right);
            }
        }
    }
}

void ar_conv_2d_s8_mve_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_conv_2d_mve_params *p = params;
    const int32_t out_c = p->gemm.out_c;

    if (p->patches == 0) {
        ar_gemm_s8_mve(&p->gemm, rows[0], (uint32_t)(p->stride_w * p->in_c), p->out_w, out);
    } else {
        int8_t *to = out;
        for (int32_t x = 0; x < p->out_w; x += p->patch_pixels) {
            const int32_t left = p->out_w - x;
            const int32_t count = left < p->patch_pixels ? left : p->patch_pixels;
            fill_patches(p, rows, x, count);
            ar_gemm_s8_mve(&p->gemm, p->patches, p->gemm.depth, (uint32_t)count, to);
            to += count * out_c;
        }
    }
    if (p->act_min > INT8_MIN || p->act_max < INT8_MAX) {
        ar_clamp_s8_mve(out, p->act_min, p->act_max, p->out_w * out_c);
    }
}

/* One tap, no stride: all pixels of all images are one row. */
static void whole(const ar_conv_2d_mve_params *p)
{
    const uint32_t pixels = (uint32_t)p->batches * p->out_h * p->out_w;
    ar_gemm_s8_mve(&p->gemm, p->input, p->in_c, pixels, p->output);
    if (p->act_min > INT8_MIN || p->act_max < INT8_MAX) {
        ar_clamp_s8_mve(p->output, p->act_min, p->act_max, (int32_t)(pixels * p->gemm.out_c));
    }
}

void ar_conv_2d_s8_mve(const ar_conv_2d_mve_params *p)
{
    const int32_t in_row = p->in_w * p->in_c;
    const int32_t out_row = p->out_w * p->gemm.out_c;
    const int8_t *image = p->input;
    int8_t *out = p->output;

    if (p->patches == 0 && p->stride_h == 1 && p->stride_w == 1) {
        whole(p);
        return;
    }
    for (int32_t b = 0; b < p->batches; b++, image += p->in_h * in_row) {
        for (int32_t y = 0; y < p->out_h; y++, out += out_row) {
            const int8_t *rows[AR_CONV_2D_MVE_ROWS];
            int32_t at = y * p->stride_h - p->pad_top;
            for (int32_t k = 0; k < p->k_h; k++, at += p->dilation_h) {
                rows[k] = at < 0 || at >= p->in_h ? 0 : image + at * in_row;
            }
            ar_conv_2d_s8_mve_row(p, rows, out);
        }
    }
}
