/* CONV_2D, int8, for Helium: copies the windows of the output pixels one after the other, then multiplies them like the
 * pixels of a 1 x 1 convolution. */
#include "conv_2d_s8_mve.h"

#include "vector_s8_mve.h"

/* Windows that have been copied but not multiplied yet, and the address of their outputs. */
typedef struct {
    int8_t *out;
    int32_t count;
} pending;

/* Computes the outputs of the windows that have been copied. */
static void multiply(const ar_conv_2d_mve_params *p, pending *windows)
{
    if (windows->count != 0) {
        ar_gemm_s8_mve(&p->gemm, p->patches, p->gemm.depth, (uint32_t)windows->count, windows->out);
        windows->out += windows->count * p->gemm.out_c;
        windows->count = 0;
    }
}

/* Copies the windows of an output row, and multiplies them whenever there is no room for more. */
static void add_windows(const ar_conv_2d_mve_params *p, const int8_t *const *rows, pending *windows)
{
    const int32_t in_c = p->in_c;
    const int32_t run = p->k_w * in_c;
    const int32_t window = p->gemm.depth;
    const int32_t last =
        (p->in_w - p->k_w) * in_c; /* start of the last window inside the row; negative if there is none */
    const int32_t step = p->stride_w * in_c;
    int32_t from = -p->pad_left * in_c; /* offset of the window in the row; it may begin before the row */
    int8_t *to = p->patches + windows->count * window;
    /* Rows [top, bottom) of the windows lie inside the image. */
    int32_t top = 0;
    int32_t bottom = p->k_h;
    while (top < bottom && rows[top] == 0) {
        top++;
    }
    while (bottom > top && rows[bottom - 1] == 0) {
        bottom--;
    }
    rows += top;

    for (int32_t left = p->out_w; left > 0; left--, from += step, to += window) {
        if (windows->count == p->patch_pixels) {
            multiply(p, windows);
            to = p->patches;
        }
        windows->count++;
        if (from >= 0 && from <= last && bottom - top == p->k_h) {
            ar_copy_rows_s8_mve(to, run, rows, p->k_h, from, run);
            continue;
        }
        const int32_t before = from < 0 ? -from : 0;
        const int32_t end = p->in_w * in_c - from;
        const int32_t inside = (end < run ? end : run) - before;
        ar_fill_s8_mve(to, p->padding, window);
        if (inside > 0 && bottom > top) {
            ar_copy_rows_s8_mve(to + top * run + before, run, rows, bottom - top, from + before, inside);
        }
    }
}

static void clamp(const ar_conv_2d_mve_params *p, int8_t *out, int32_t count)
{
    if (p->act_min > INT8_MIN || p->act_max < INT8_MAX) {
        ar_clamp_s8_mve(out, p->act_min, p->act_max, count);
    }
}

void ar_conv_2d_s8_mve_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_conv_2d_mve_params *p = params;

    if (p->patches == 0) {
        ar_gemm_s8_mve(&p->gemm, rows[0], (uint32_t)(p->stride_w * p->in_c), p->out_w, out);
    } else {
        pending windows = {out, 0};
        add_windows(p, rows, &windows);
        multiply(p, &windows);
    }
    clamp(p, out, p->out_w * p->gemm.out_c);
}

void ar_conv_2d_s8_mve(const ar_conv_2d_mve_params *p)
{
    const int32_t in_row = p->in_w * p->in_c;
    const int32_t out_row = p->out_w * p->gemm.out_c;
    const int32_t rows_out = p->batches * p->out_h;
    const int8_t *image = p->input;
    pending windows = {p->output, 0};

    if (p->patches == 0 && p->stride_h == 1 && p->stride_w == 1) {
        /* 1 x 1 at stride 1: all pixels of all images are computed as one row. */
        ar_gemm_s8_mve(&p->gemm, image, p->in_c, (uint32_t)(rows_out * p->out_w), p->output);
    } else {
        for (int32_t b = 0; b < p->batches; b++, image += p->in_h * in_row) {
            for (int32_t y = 0; y < p->out_h; y++) {
                const int8_t *rows[AR_CONV_2D_MVE_ROWS];
                int32_t at = y * p->stride_h - p->pad_top;
                for (int32_t k = 0; k < p->k_h; k++, at += p->dilation_h) {
                    rows[k] = at < 0 || at >= p->in_h ? 0 : image + at * in_row;
                }
                if (p->patches != 0) {
                    add_windows(p, rows, &windows);
                } else {
                    const uint32_t step = (uint32_t)(p->stride_w * p->in_c);
                    ar_gemm_s8_mve(&p->gemm, rows[0], step, p->out_w, windows.out);
                    windows.out += out_row;
                }
            }
        }
        multiply(p, &windows);
    }
    clamp(p, p->output, rows_out * out_row);
}
