/* DEPTHWISE_CONV_2D, int8, 3x3: prepares lines (widened input rows or columns) and tables of weights, and computes the output
 * rows. The header describes both layouts. */
#include "depthwise_3x3_s8_dsp.h"

#define CHANNEL_WORDS (AR_DW_BLOCK_WORDS / AR_DW_GROUP)

/* The constants of a group, [AR_DW_GROUP], and the lines. */
static ar_dw_channel *table_of(const ar_depthwise_3x3_dsp_params *p) { return p->scratch; }

static int32_t *lines_of(const ar_depthwise_3x3_dsp_params *p)
{
    return (int32_t *)((int8_t *)p->scratch + AR_DW_TABLE_BYTES);
}

/* Sets what depends on the pixels of the lines: they have the input pixels from `first` on that `out_w` outputs need, of a
 * line of the image with `in_w` pixels. `first` is -1 if the first pixel is padding. Returns the end of the full blocks,
 * whose outputs are all needed. */
static int32_t *set_pixels(ar_dw_group *g, const ar_depthwise_3x3_dsp_params *p, int32_t in_w, int32_t first,
                           int32_t out_w)
{
    const int32_t outputs = AR_DW_PIXELS / p->stride;
    const int32_t full = out_w / outputs;
    int32_t *const lines = lines_of(p);
    g->row.part = out_w - full * outputs;
    g->row.part_offset = (g->row.part - 1) * g->row.pixel;

    /* `reach` is the number of pixels that the outputs need, including left padding. `pixels` of them are in the
     * line or left of it. */
    const int32_t reach = (out_w - 1) * p->stride + 3;
    const int32_t pixels = in_w - first < reach ? in_w - first : reach;
    g->line.second = first < 0 ? 0 : g->line.pixel;
    g->line.blocks = pixels / AR_DW_PIXELS;
    g->line.rest = pixels - g->line.blocks * AR_DW_PIXELS;

    /* There is at most one pixel of padding after the line. If it begins a pair, ar_depthwise_line_s8_dsp does
     * not write that pair, so it is written here. */
    if (pixels < reach) {
        const uint32_t zero_points = (uint16_t)p->zero_point * 0x00010001u;
        const int32_t last = full - (g->row.part == 0);
        int32_t *at = lines + last * AR_DW_BLOCK_WORDS + (pixels - last * AR_DW_PIXELS) / 2;
        for (int32_t i = 0; i < 3 * AR_DW_GROUP; i++) {
            __builtin_memcpy(at + 4 * i, &zero_points, 4);
        }
    }
    return lines + full * AR_DW_BLOCK_WORDS;
}

/* Sets the constants that all lines of all groups share. `in_pixel` and `out_pixel` are the distances in bytes between
 * the pixels of a line. */
static void set_constants(ar_dw_group *g, const ar_depthwise_3x3_dsp_params *p, int32_t in_pixel,
                          int32_t out_pixel)
{
    int8_t *padding = (int8_t *)p->scratch + AR_DW_TABLE_BYTES - 4;
    const uint32_t bytes = (uint8_t)p->zero_point * 0x01010101u;
    __builtin_memcpy(padding, &bytes, 4);
    g->line.pixel = in_pixel;
    g->line.padding = padding;
    g->row.pixel = out_pixel;
    g->row.rounding = p->rounding;
    g->row.third = 3 * out_pixel - 1;
}

/* Selects the group of four channels that begins at c. If fewer than four channels are left, the group is the last four
 * channels. Then its channels before c, which are already computed, are skipped. Returns their number. `full` is the
 * end of the full blocks. */
static int32_t select_group(ar_dw_group *g, const ar_depthwise_3x3_dsp_params *p, int32_t c, int32_t *full)
{
    const int32_t from = c + AR_DW_GROUP > p->channels ? p->channels - AR_DW_GROUP : c;
    const int32_t done = c - from;
    g->row.next_block = AR_DW_PIXELS / p->stride * g->row.pixel - AR_DW_GROUP + done;
    g->row.skip = done * CHANNEL_WORDS * 4;
    g->row.lines = lines_of(p) + done * CHANNEL_WORDS;
    g->row.full = full + done * CHANNEL_WORDS;
    ar_depthwise_table_s8_dsp(table_of(p), p->weights + from, p->channels, p->bias + from,
                              p->multiplier + from);
    return done;
}

/* Computes all images of a group whose first channel is c. */
static inline void compute_images(const ar_depthwise_3x3_dsp_params *p, ar_dw_image *image, int32_t c,
                                  int32_t done, int32_t columns)
{
    ar_dw_group *const g = &image->group;
    image->first = (uintptr_t)(table_of(p) + done) + (uintptr_t)image->last;
    g->end = (uintptr_t)(table_of(p) + AR_DW_GROUP) + (uintptr_t)image->last;
    for (int32_t b = 0; b < p->batches; b++) {
        g->in = p->input + b * (p->in_h * p->in_w * p->channels) + c - done;
        g->row.out = p->output + b * (p->out_h * p->out_w * p->channels) + c;
        image->to = lines_of(p);
        image->next = columns ? -p->pad_left : -p->pad_top;
        image->missing = 3;
        image->out_lines = columns ? p->out_w : p->out_h;
        if (p->stride == 1) {
            p->kernel(image);
        } else {
            ar_dw_image_rows(image, 2, p->kernel);
        }
    }
}

/* Computes all channels. `columns` is 1 if the lines are columns of the image. */
static void compute(const ar_depthwise_3x3_dsp_params *p, int32_t columns)
{
    const int32_t channels = p->channels;
    const int32_t in_row = p->in_w * channels;
    const int32_t out_row = p->out_w * channels;
    ar_dw_image image;
    ar_dw_group *const g = &image.group;
    int32_t *full;
    image.last = lines_of(p) + 8;
    if (columns) {
        image.in_lines = p->in_w;
        image.in_line = image.out_line = channels;
        set_constants(g, p, in_row, out_row);
        full = set_pixels(g, p, p->in_h, -p->pad_top, p->out_h);
    } else {
        image.in_lines = p->in_h;
        image.in_line = in_row;
        image.out_line = out_row;
        set_constants(g, p, channels, channels);
        full = set_pixels(g, p, p->in_w, -p->pad_left, p->out_w);
    }
    for (int32_t c = 0; c < p->channels; c += AR_DW_GROUP) {
        compute_images(p, &image, c, select_group(g, p, c, full), columns);
    }
}

void ar_depthwise_3x3_s8_dsp(const ar_depthwise_3x3_dsp_params *p) { compute(p, 0); }

void ar_depthwise_3x3_columns_s8_dsp(const ar_depthwise_3x3_dsp_params *p) { compute(p, 1); }

void ar_depthwise_3x3_s8_dsp_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_depthwise_3x3_dsp_params *p = params;
    const int32_t outputs = AR_DW_PIXELS / 2 * AR_DW_STRIP_BLOCKS;
    ar_dw_group g;
    set_constants(&g, p, p->channels, p->channels);
    for (int32_t c = 0; c < p->channels; c += AR_DW_GROUP) {
        const int32_t done = select_group(&g, p, c, lines_of(p));
        g.row.channels = table_of(p) + done;
        g.row.end = table_of(p) + AR_DW_GROUP;
        int32_t column = -p->pad_left; /* the first column of the strip */
        for (int32_t x = 0; x < p->out_w; x += outputs) {
            g.row.full = set_pixels(&g, p, p->in_w, column, p->out_w - x < outputs ? p->out_w - x : outputs) +
                         done * CHANNEL_WORDS;
            for (int32_t k = 0; k < 3; k++) {
                const int8_t *first = rows[k] + c - done + (column < 0 ? 0 : column) * p->channels;
                ar_depthwise_line_s8_dsp(&g.line, rows[k] ? first : 0, lines_of(p) + 4 * k);
            }
            g.row.out = out + x * p->channels + c;
            p->kernel(&g.row);
            column += AR_DW_PIXELS * AR_DW_STRIP_BLOCKS;
        }
    }
}
