/* CONV_2D, int8, for WebAssembly's 128-bit SIMD: widens the windows of four output pixels, then multiplies them. */
#include "conv_2d_s8_simd128.h"

#include "widen_simd128.h"

/* Widens `taps` neighboring pixels of a row from pixel x on; those outside the row have the value of the padding. */
static int16_t *add_run(const ar_conv_2d_simd128_params *p, const int8_t *row, int32_t x, int32_t taps,
                        int16_t *to)
{
    const int32_t in_c = p->in_c;
    int16_t *const end = to + taps * in_c;
    int32_t first = x < 0 ? -x : 0;
    int32_t last = p->in_w - x < taps ? p->in_w - x : taps;
    if (row == 0 || first >= last) {
        first = last = taps;
    }
    ar_fill_s16(to, p->padding, first * in_c);
    if (first < last) {
        ar_widen(to + first * in_c, row + (x + first) * in_c, (last - first) * in_c);
    }
    ar_fill_s16(to + last * in_c, p->padding, (taps - last) * in_c);
    return end;
}

/* Widens the window that begins at column x. */
static void add_window(const ar_conv_2d_simd128_params *p, const int8_t *const *rows, int32_t x, int16_t *to)
{
    const int32_t in_c = p->in_c;
    if (p->dilation_w == 1) {
        const int32_t run = p->k_w * in_c;
        const int is_inside = x >= 0 && x + p->k_w <= p->in_w;
        for (int32_t k = 0; k < p->k_h; k++) {
            if (is_inside && rows[k]) {
                ar_widen(to, rows[k] + x * in_c, run);
                to += run;
            } else {
                to = add_run(p, rows[k], x, p->k_w, to);
            }
        }
        return;
    }
    for (int32_t k = 0; k < p->k_h; k++) {
        for (int32_t tap = 0; tap < p->k_w; tap++) {
            to = add_run(p, rows[k], x + tap * p->dilation_w, 1, to);
        }
    }
}

void ar_conv_2d_s8_simd128_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_conv_2d_simd128_params *p = params;
    const uint32_t length = 2 * p->gemm.pairs;
    int32_t x = -p->pad_left;
    for (uint32_t left = p->out_w; left != 0;) {
        const uint32_t pixels = left < 4 ? left : 4;
        for (uint32_t k = 0; k < pixels; k++, x += p->stride_w) {
            add_window(p, rows, x, p->patches + k * length);
        }
        ar_gemm_s8_simd128(&p->gemm, p->patches, pixels, out);
        out += pixels * p->gemm.out_c;
        left -= pixels;
    }
}

/* Computes all pixels of all images as one row, for filters of one tap at stride 1. */
static void pointwise(const ar_conv_2d_simd128_params *p)
{
    const uint32_t length = 2 * p->gemm.pairs;
    const int8_t *in = p->input;
    int8_t *out = p->output;
    for (uint32_t left = (uint32_t)p->batches * p->out_h * p->out_w; left != 0;) {
        const uint32_t pixels = left < 4 ? left : 4;
        if (length == p->in_c) {
            ar_widen(p->patches, in, (int32_t)(pixels * length));
        } else {
            for (uint32_t k = 0; k < pixels; k++) {
                ar_widen(p->patches + k * length, in + k * p->in_c, p->in_c);
            }
        }
        ar_gemm_s8_simd128(&p->gemm, p->patches, pixels, out);
        in += pixels * p->in_c;
        out += pixels * p->gemm.out_c;
        left -= pixels;
    }
}

void ar_conv_2d_s8_simd128(const ar_conv_2d_simd128_params *p)
{
    if (p->k_h == 1 && p->k_w == 1 && p->stride_h == 1 && p->stride_w == 1) {
        pointwise(p);
        return;
    }
    const int32_t in_row = p->in_w * p->in_c;
    const int8_t *image = p->input;
    int8_t *out = p->output;
    for (int32_t b = 0; b < p->batches; b++, image += p->in_h * in_row) {
        for (int32_t y = 0; y < p->out_h; y++, out += p->out_w * p->gemm.out_c) {
            const int8_t *rows[AR_CONV_2D_SIMD128_ROWS];
            int32_t at = y * p->stride_h - p->pad_top;
            for (int32_t k = 0; k < p->k_h; k++, at += p->dilation_h) {
                rows[k] = at < 0 || at >= p->in_h ? 0 : image + at * in_row;
            }
            ar_conv_2d_s8_simd128_row(p, rows, out);
        }
    }
}
