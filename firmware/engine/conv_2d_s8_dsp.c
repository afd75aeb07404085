/* CONV_2D, int8: blocks of 3 (or 2) neighbouring pixels are widened, then multiplied with every pair of filters. */
#include "conv_2d_s8_dsp.h"

#include "affine_requant.h"
#include "dot_s8_dsp.h"
#include "expand_s8_dsp.h"

static int8_t *fill_bytes(int8_t *to, int32_t value, int32_t bytes)
{
    for (; bytes > 0; bytes--) {
        *to++ = (int8_t)value;
    }
    return to;
}

/* Columns [first, first + count) of a row that may be absent, with padding where they lie outside. */
static void padded_window(const ar_conv_2d_dsp_params *p, int8_t *to, const int8_t *row, int32_t in_w,
                          int32_t first, int32_t count)
{
    const int32_t in_c = p->in_c;
    int32_t before = first < 0 ? -first : 0;
    int32_t end = in_w - first; /* columns of the window before the row's end */
    end = end < count ? end : count;
    if (!row || end <= before) {
        fill_bytes(to, p->zero_point, count * in_c);
        return;
    }
    to = fill_bytes(to, p->zero_point, before * in_c);
    const int8_t *from = row + (first + before) * in_c;
    int32_t bytes = (end - before) * in_c;
    for (; bytes >= 4; bytes -= 4, to += 4, from += 4) {
        __builtin_memcpy(to, from, 4); /* one load and one store: the addresses need no alignment */
    }
    for (; bytes > 0; bytes--) {
        *to++ = *from++;
    }
    fill_bytes(to, p->zero_point, (count - end) * in_c);
}

/* Where the words of a block go: those of whole groups, and the halfwords of the rests. */
typedef struct {
    int32_t *groups;
    int8_t *rest;
    int32_t odd; /* 1: the next rest is the second half of a word */
} places;

/* Widen `count` rows of one run for a block of `pixels` pixels. */
static void widen(const ar_conv_2d_dsp_params *p, places *to, const int8_t *const *rows, int32_t offset,
                  int32_t step, int32_t count, int32_t pixels)
{
    if (p->run_groups) {
        to->groups = pixels == 3 ? ar_expand3_s8_dsp(to->groups, rows, offset, step, count, p->run_groups)
                                 : ar_expand2_s8_dsp(to->groups, rows, offset, step, count, p->run_groups);
    }
    if (p->rest) {
        const int32_t skip = offset + p->run_groups * 4;
        for (; count > 0; count--) {
            const int8_t *in = *rows++ + skip;
            for (int32_t i = 0; i < p->rest; i++, in++) {
                const int8_t *from = in;
                for (int32_t k = 0; k < pixels; k++, from += step) {
                    const int16_t wide = *from;
                    __builtin_memcpy(to->rest + 4 * k + 2 * to->odd, &wide, 2);
                }
                to->rest += to->odd ? 4 * pixels : 0;
                to->odd ^= 1;
            }
        }
    }
}

/* Widen the window of `pixels` neighbouring outputs; `column` is where the first one's first tap falls. `whole` tells
 * that no row is absent. */
static void widen_block(const ar_conv_2d_dsp_params *p, const int8_t *const *rows, int32_t whole,
                        int32_t column, int32_t pixels, int32_t in_w)
{
    const int32_t in_c = p->in_c;
    const int32_t step = p->stride_w * in_c;
    const int32_t width = (pixels - 1) * p->stride_w + p->run_width;
    int32_t *x = p->scratch;
    /* One pixel alone is taken twice. */
    const int32_t wide = pixels == 1 ? 2 : pixels;
    const int32_t bytes = p->run_groups * 4 + p->rest + (pixels - 1) * step;
    int32_t offset = column * in_c;
    places to = {x, (int8_t *)(x + p->runs * p->k_h * p->run_groups * 2 * wide), 0};
    for (int32_t run = 0; run < p->runs; run++) {
        if (whole && offset >= 0 && offset + bytes <= in_w * in_c) {
            widen(p, &to, rows, offset, pixels == 1 ? 0 : step, p->k_h, wide);
        } else {
            int8_t *window = (int8_t *)(x + p->groups * 2 * wide);
            const int8_t *const one = window;
            for (int32_t k = 0; k < p->k_h; k++) {
                padded_window(p, window, rows[k], in_w, column, width);
                widen(p, &to, &one, 0, pixels == 1 ? 0 : step, 1, wide);
            }
        }
        column += p->dilation_w;
        offset += p->dilation_w * in_c;
    }
}

/* `out_w` outputs of a row of `in_w` pixels. */
static void row_of(const ar_conv_2d_dsp_params *p, const int8_t *const *rows, int8_t *out, int32_t in_w,
                   int32_t out_w)
{
    const int32_t pairs = p->out_c / 2;
    const int32_t *last = p->filters + pairs * (2 + p->groups * 2);
    ar_dot_s8_dsp d;
    d.rounding = p->rounding;
    d.shift = p->shift;
    d.x = p->scratch;
    d.groups = p->groups;
    d.two_sided = p->two_sided;

    int32_t whole = 1;
    for (int32_t k = 0; k < p->k_h; k++) {
        whole &= rows[k] != 0;
    }
    int32_t column = -p->pad_left;
    int8_t *const first = out;
    for (int32_t left = out_w; left > 0;) {
        const int32_t pixels = left == 1 ? 1 : left == 2 || left == 4 ? 2 : 3;
        void (*dot)(const ar_dot_s8_dsp *) = pixels == 3 ? ar_dot3_s8_dsp : ar_dot2_s8_dsp;
        widen_block(p, rows, whole, column, pixels, in_w);
        d.pair = p->filters;
        d.requant = p->requant;
        if (pairs) {
            d.out = out;
            d.pixel = pixels == 1 ? 0 : p->out_c;
            d.end = last;
            dot(&d);
            d.pair = last;
            d.requant += pairs * (p->two_sided ? 4 : 3);
        }
        if (p->out_c & 1) { /* the last pair has one channel: its outputs go through a buffer */
            int8_t halves[6];
            d.out = halves;
            d.pixel = 2;
            d.end = last + 2 + p->groups * 2;
            dot(&d);
            for (int32_t k = 0; k < pixels; k++) {
                out[(k + 1) * p->out_c - 1] = halves[2 * k];
            }
        }
        out += pixels * p->out_c;
        column += pixels * p->stride_w;
        left -= pixels;
    }
    ar_clamp_s8(first, out_w * p->out_c, p->act_min, p->act_max);
}

void ar_conv_2d_s8_dsp_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_conv_2d_dsp_params *p = params;
    row_of(p, rows, out, p->in_w, p->out_w);
}

void ar_conv_2d_s8_dsp(const ar_conv_2d_dsp_params *p)
{
    const int8_t *image = p->input;
    int8_t *out = p->output;
    const int32_t in_row = p->in_w * p->in_c;
    const int32_t out_row = p->out_w * p->out_c;
    if (p->k_h * p->runs * p->run_width == 1 && p->stride_h == 1 && p->stride_w == 1) {
        /* Rows and images follow each other without a seam. */
        const int32_t pixels = p->batches * p->in_h * p->in_w;
        row_of(p, &image, out, pixels, pixels);
        return;
    }
    for (int32_t b = 0; b < p->batches; b++) {
        for (int32_t y = 0; y < p->out_h; y++) {
            const int8_t *rows[AR_CONV_DSP_ROWS];
            int32_t at = y * p->stride_h - p->pad_top;
            for (int32_t k = 0; k < p->k_h; k++, at += p->dilation_h) {
                rows[k] = at >= 0 && at < p->in_h ? image + at * in_row : 0;
            }
            row_of(p, rows, out, p->in_w, p->out_w);
            out += out_row;
        }
        image += p->in_h * in_row;
    }
}
