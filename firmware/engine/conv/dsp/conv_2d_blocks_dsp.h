/* The body of a convolution on cores with the DSP extension, for any format of filters. It widens the inputs of a block
 * of 2 or 3 neighboring output pixels to int16, then multiplies them with every pair of filters. A pair is the filters
 * of two output channels, see dot_s8_dsp.h. The file that includes this file must first define:
 *     dot_work            the parameter structure of the inner product; all variants have the same fields up to `pair`
 *     DOT_WORK_MORE       initial values of the fields after `pair`, beginning with a comma; or empty
 *     DOT2, DOT3          the functions that compute 2 and 3 output pixels
 *     FILTER_WORDS(g)     the number of words of a pair's filters with g groups of four inputs
 *     REQUANT_WORDS       the number of words of a pair in the table of a one-sided requantization
 *     WIDENED(d, odd, n)  code to run after the inputs of n pixels have been widened; d and odd are dot_work structures
 *     CONVOLUTION         the name of the function for the whole image
 *     CONVOLUTION_ROW     the name of the function for one row
 */
#include "affine_requant.h"
#include "conv_2d_dsp_params.h"
#include "expand_s8_dsp.h"
#include "padded_window_dsp.h"

typedef int16_t __attribute__((__may_alias__)) half; /* half a word of scratch memory */

/* Widens the last `p->rest` bytes of a run (see conv_2d_dsp_params.h) in `count` rows to halfwords, for each of
 * `pixels` output pixels. In each row these bytes begin at `offset` for the first pixel, and `step` bytes later for
 * each further pixel. Memory has one word of each pixel in turn. The lower half of a word is filled first, then
 * its upper half. `to` is the address for the first pixel's next halfword, and `odd` is 1 if that is an upper half.
 * Returns the new `to`. */
static half *collect_rests(const ar_conv_2d_dsp_params *p, half *to, int32_t odd, const int8_t *const *rows,
                           int32_t offset, int32_t step, int32_t count, int32_t pixels)
{
    int32_t next = odd ? 2 * pixels - 1 : 1;
    for (; count > 0; count--) {
        const int8_t *in = *rows++ + offset;
        for (int32_t i = 0; i < p->rest; i++, in++) {
            to[0] = in[0];
            to[2] = in[step];
            if (pixels == 3) {
                to[4] = in[2 * step];
            }
            to += next;
            next = 2 * pixels - next;
        }
    }
    return to;
}

/* Widens the windows of `pixels` neighboring output pixels, which may be partly outside the image, run by run. A run
 * that is inside the image in all rows is widened from the image; otherwise each of its rows is copied with padding and
 * widened from the copy. `column` is the image column of the first pixel's first tap, `all_rows` is 1 if no row is
 * padding, and `in_w` is the number of columns in a row. */
static void widen_window(const ar_conv_2d_dsp_params *p, const int8_t *const *rows, int32_t all_rows,
                         int32_t column, int32_t pixels, int32_t in_w)
{
    const int32_t in_c = p->in_c;
    const int32_t width = (pixels - 1) * p->stride_w + p->run_width;
    const int32_t step = pixels == 1 ? 0 : p->stride_w * in_c; /* a single pixel is computed twice */
    const int32_t wide = pixels == 1 ? 2 : pixels;
    const int32_t run_bytes = p->run_groups * 4;
    const int32_t bytes = run_bytes + p->rest + (pixels - 1) * step;
    int32_t *x = p->scratch;
    half *rest = (half *)(x + p->runs * p->k_h * p->run_groups * 2 * wide);
    int8_t *const window = (int8_t *)(x + p->groups * 2 * wide);
    const int8_t *const copy = window;
    int32_t offset = column * in_c;
    int32_t odd = 0;
    for (int32_t run = 0; run < p->runs; run++) {
        const int32_t inside = all_rows && offset >= 0 && offset + bytes <= in_w * in_c;
        const int32_t at = inside ? offset : 0;
        const int32_t count = inside ? p->k_h : 1;
        const int8_t *const *from = inside ? rows : &copy;
        for (int32_t k = 0; k < p->k_h; k += count) {
            if (!inside) {
                padded_window(window, rows[k], in_c, p->zero_point, in_w, column, width);
            }
            if (p->run_groups) {
                x = wide == 3 ? ar_expand3_s8_dsp(x, from, at, step, count, p->run_groups)
                              : ar_expand2_s8_dsp(x, from, at, step, count, p->run_groups);
            }
            if (p->rest) {
                rest = collect_rests(p, rest, odd, from, at + run_bytes, step, count, wide);
                odd ^= count & p->rest & 1;
            }
        }
        column += p->dilation_w;
        offset += p->dilation_w * in_c;
    }
}

/* Computes an output row of `out_w` pixels from rows of `in_w` pixels, without the clamp to the activation's range. */
static void compute_row(const ar_conv_2d_dsp_params *p, const int8_t *const *rows, int8_t *out, int32_t in_w,
                        int32_t out_w)
{
    const int32_t in_c = p->in_c;
    const int32_t out_c = p->out_c;
    const int32_t size = FILTER_WORDS(p->groups);
    const int32_t *last = p->filters + out_c / 2 * size;
    dot_work d = {out,        p->requant, p->rounding, p->shift, out_w == 1 ? 0 : out_c,
                  p->scratch, last,       p->groups,   p->form,  p->filters DOT_WORK_MORE};
    /* If the number of channels is odd, the last pair has only one channel. Both outputs of that pair are written to
     * `halves`, and only the first output is copied to `out`. */
    int8_t halves[6];
    dot_work odd = d;
    odd.out = halves;
    odd.requant += out_c / 2 * (p->form == AR_DOT_TWO_SIDED ? 4 : REQUANT_WORDS);
    odd.pixel = 2;
    odd.pair = last;
    odd.end = last + size;

    /* A block of 3 pixels reads only bytes inside the image if no row is padding and the block's offset in the row is
     * in [0, inside]. The offset of a block of 2 pixels may be larger by one `step`, the distance in bytes between the
     * windows of neighboring pixels. `reach` is the number of bytes in a row that a block of 3 pixels reads. */
    const int32_t step = p->stride_w * in_c;
    const int32_t run_bytes = p->run_groups * 4;
    const int32_t reach = run_bytes + p->rest + 2 * step;
    int32_t inside = in_w * in_c - reach;
    int32_t column = -p->pad_left;
    int32_t all_rows = 1;
    const int8_t *copies[AR_CONV_DSP_ROWS];
    if (p->padded_w) {
        /* Copy the rows with their padding, and read the copies as if they were the image. `overhang` is the number of
         * bytes that the last group of a run reads after the run. */
        const int32_t overhang = run_bytes + p->rest - p->run_width * in_c;
        /* A group of a block has 4 words if all blocks have 2 pixels, otherwise 6. */
        int8_t *to = (int8_t *)((int32_t *)p->scratch + p->groups * (out_w < 3 || out_w == 4 ? 4 : 6));
        for (int32_t k = 0; k < p->k_h; k++) {
            padded_window(to, rows[k], in_c, p->zero_point, in_w, column, p->padded_w);
            copies[k] = to;
            to += p->padded_w * in_c + overhang;
        }
        rows = copies;
        inside = p->padded_w * in_c + overhang - reach;
        column = 0;
        in_w = p->padded_w + overhang; /* the bytes after the copy may be read */
    } else {
        for (int32_t k = 0; k < p->k_h; k++) {
            all_rows &= rows[k] != 0;
        }
    }
    if (!all_rows || p->runs > 1) {
        inside = -1 - step; /* no block is inside */
    }

    for (int32_t left = out_w; left > 0;) {
        const int32_t offset = column * in_c;
        /* The last four pixels are two blocks of 2 pixels, because a block of one pixel takes as long as one of 2. */
        const int32_t pixels = left == 1 ? 1 : left == 2 || left == 4 ? 2 : 3;
        void (*dot)(const dot_work *) = DOT2;
        if (pixels == 3) {
            dot = DOT3;
            if (offset >= 0 && offset <= inside) {
                if (p->run_groups) {
                    ar_expand3_s8_dsp(p->scratch, rows, offset, step, p->k_h, p->run_groups);
                }
                if (p->rest) {
                    int32_t *rest = (int32_t *)p->scratch + p->k_h * p->run_groups * 6;
                    collect_rests(p, (half *)rest, 0, rows, offset + run_bytes, step, p->k_h, 3);
                }
            } else {
                widen_window(p, rows, all_rows, column, 3, in_w);
            }
        } else if (pixels == 2 && p->rest == 0 && offset >= 0 && offset <= inside + step) {
            ar_expand2_s8_dsp(p->scratch, rows, offset, step, p->k_h, p->run_groups);
        } else {
            widen_window(p, rows, all_rows, column, pixels, in_w);
        }
        WIDENED(d, odd, pixels == 3 ? 3 : 2);
        if (d.pair != d.end) {
            d.out = out;
            dot(&d);
        }
        if (out_c & 1) {
            dot(&odd);
            for (int32_t k = 0; k < pixels; k++) {
                out[(k + 1) * out_c - 1] = halves[2 * k];
            }
        }
        out += pixels * out_c;
        column += pixels * p->stride_w;
        left -= pixels;
    }
}

void CONVOLUTION_ROW(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_conv_2d_dsp_params *p = params;
    compute_row(p, rows, out, p->in_w, p->out_w);
    ar_clamp_s8(out, p->out_w * p->out_c, p->act_min, p->act_max);
}

void CONVOLUTION(const ar_conv_2d_dsp_params *p)
{
    const int8_t *image = p->input;
    int8_t *out = p->output;
    const int32_t in_row = p->in_w * p->in_c;
    const int32_t out_row = p->out_w * p->out_c;
    if (p->k_h * p->runs * p->run_width == 1 && p->stride_h == 1 && p->stride_w == 1) {
        /* For 1 x 1 filters at stride 1, all rows of all images are contiguous, so they are computed as one row. */
        const int32_t pixels = p->batches * p->in_h * p->in_w;
        compute_row(p, &image, out, pixels, pixels);
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
            CONVOLUTION_ROW(p, rows, out);
            out += out_row;
        }
        image += p->in_h * in_row;
    }
}
