/* DEPTHWISE_CONV_2D, int8, 3x3: prepares lines (widened input rows or columns) and tables of weights, and computes the output
 * rows. The header describes both layouts. */
#include "depthwise_3x3_s8_dsp.h"

#define CHANNEL_WORDS (AR_DW_BLOCK_WORDS / AR_DW_GROUP)

/* The state of the group of four channels that is being computed. */
typedef struct {
    const ar_depthwise_3x3_dsp_params *p;
    /* The image as the kernel sees it: its lines are the rows of the image, or its columns. */
    uint16_t in_lines, out_lines, pad;
    int32_t in_line, out_line;  /* bytes from one line to the next */
    int32_t block;              /* bytes of the output pixels that are computed from one block of the lines */
    int32_t *full;              /* the end of the full blocks, whose outputs are all needed */
    const ar_dw_channel *first; /* the first channel whose outputs are written */
    ar_dw_line line;
    ar_dw_row row; /* `out`, `channels` and `end` are set for each output row */
} group;

/* The constants of the group, [AR_DW_GROUP], and the lines. */
static ar_dw_channel *table_of(const group *g) { return g->p->scratch; }

static int32_t *lines_of(const group *g) { return (int32_t *)((int8_t *)g->p->scratch + AR_DW_TABLE_BYTES); }

/* Sets what depends on the pixels of the lines: they have the input pixels from `first` on that `out_w` outputs need, of a
 * line of the image with `in_w` pixels. `first` is -1 if the first pixel is padding. */
static void set_pixels(group *g, int32_t in_w, int32_t first, int32_t out_w)
{
    const ar_depthwise_3x3_dsp_params *p = g->p;
    const int32_t outputs = AR_DW_PIXELS / p->stride;
    const int32_t full = out_w / outputs;
    g->full = lines_of(g) + full * AR_DW_BLOCK_WORDS;
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
        int32_t *at = lines_of(g) + last * AR_DW_BLOCK_WORDS + (pixels - last * AR_DW_PIXELS) / 2;
        for (int32_t i = 0; i < 3 * AR_DW_GROUP; i++) {
            __builtin_memcpy(at + 4 * i, &zero_points, 4);
        }
    }
}

/* Sets the constants that all lines of all groups share. `columns` is 1 if the lines are columns of the image. */
static void set_constants(group *g, const ar_depthwise_3x3_dsp_params *p, int32_t columns)
{
    const int32_t channels = p->channels;
    const int32_t in_row = p->in_w * channels;
    const int32_t out_row = p->out_w * channels;
    g->in_lines = columns ? p->in_w : p->in_h;
    g->out_lines = columns ? p->out_w : p->out_h;
    g->pad = columns ? p->pad_left : p->pad_top;
    g->in_line = columns ? channels : in_row;
    g->out_line = columns ? channels : out_row;
    int8_t *padding = (int8_t *)p->scratch + AR_DW_TABLE_BYTES - 4;
    const uint32_t bytes = (uint8_t)p->zero_point * 0x01010101u;

    g->p = p;
    __builtin_memcpy(padding, &bytes, 4);

    /* Bytes from one pixel of a line to the next. */
    g->line.pixel = columns ? in_row : channels;
    g->row.pixel = columns ? out_row : channels;
    g->block = AR_DW_PIXELS / p->stride * g->row.pixel;
    g->row.rounding = p->rounding;
    g->row.third = 3 * g->row.pixel - 1;
    g->line.padding = padding;
}

/* Selects the group of four channels that begins at c, and returns its first channel. If fewer than four channels are
 * left, the group is the last four channels. Then its channels before c, which are already computed, are skipped. */
static int32_t select_group(group *g, int32_t c)
{
    const ar_depthwise_3x3_dsp_params *p = g->p;
    const int32_t from = c + AR_DW_GROUP > p->channels ? p->channels - AR_DW_GROUP : c;
    const int32_t done = c - from;
    g->first = table_of(g) + done;
    g->row.next_block = g->block - AR_DW_GROUP + done;
    g->row.skip = done * CHANNEL_WORDS * 4;
    g->row.lines = lines_of(g) + done * CHANNEL_WORDS;
    g->row.full = g->full + done * CHANNEL_WORDS;
    ar_depthwise_table_s8_dsp(table_of(g), p->weights + from, p->channels, p->bias + from,
                              p->multiplier + from);
    return from;
}

/* Computes an output row of the group's channels. The line at `lines` holds the input row for kernel row `top`. */
static inline void compute_row(group *g, int8_t *out, int32_t top)
{
    g->row.out = out;
    g->row.channels = &g->first->line[top];
    g->row.end = &table_of(g)[AR_DW_GROUP].line[top];
    g->p->kernel(&g->row);
}

/* Computes a group's channels of one image, from the first line to the last. Output line y may overwrite input line y. */
static void compute_image(group *g, const int8_t *row, int8_t *out)
{
    const ar_depthwise_3x3_dsp_params *p = g->p;
    const int32_t stride = p->stride;
    const int32_t in_h = g->in_lines;
    const int32_t in_row = g->in_line;
    const int32_t out_row = g->out_line;
    int32_t *const lines = lines_of(g);
    int32_t *line = lines;
    int32_t next = -g->pad;
    int32_t end = next + 3; /* end of the rows that the output row needs */
    int32_t top = 0;
    for (int32_t y = g->out_lines; y != 0; y--) {
        for (; next < end; next++) {
            const int32_t inside = next >= 0 && next < in_h;
            ar_depthwise_line_s8_dsp(&g->line, inside ? row : 0, line);
            row += inside ? in_row : 0;
            line = line == lines + 8 ? lines : line + 4;
        }
        end += stride;
        compute_row(g, out, top);
        top -= stride;
        top += top < 0 ? 3 : 0;
        out += out_row;
    }
}

/* Computes all images. */
static void compute(const ar_depthwise_3x3_dsp_params *p, int32_t columns)
{
    group g;
    set_constants(&g, p, columns);
    if (columns) {
        set_pixels(&g, p->in_h, -p->pad_top, p->out_h);
    } else {
        set_pixels(&g, p->in_w, -p->pad_left, p->out_w);
    }
    for (int32_t c = 0; c < p->channels; c += AR_DW_GROUP) {
        const int32_t from = select_group(&g, c);
        for (int32_t b = 0; b < p->batches; b++) {
            compute_image(&g, p->input + b * (p->in_h * p->in_w * p->channels) + from,
                          p->output + b * (p->out_h * p->out_w * p->channels) + c);
        }
    }
}

void ar_depthwise_3x3_s8_dsp(const ar_depthwise_3x3_dsp_params *p) { compute(p, 0); }

void ar_depthwise_3x3_columns_s8_dsp(const ar_depthwise_3x3_dsp_params *p) { compute(p, 1); }

void ar_depthwise_3x3_s8_dsp_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_depthwise_3x3_dsp_params *p = params;
    const int32_t outputs = AR_DW_PIXELS / p->stride * AR_DW_STRIP_BLOCKS;
    group g;
    set_constants(&g, p, 0);
    for (int32_t c = 0; c < p->channels; c += AR_DW_GROUP) {
        const int32_t from = select_group(&g, c);
        int32_t column = -p->pad_left; /* the first column of the strip */
        for (int32_t x = 0; x < p->out_w; x += outputs) {
            set_pixels(&g, p->in_w, column, p->out_w - x < outputs ? p->out_w - x : outputs);
            g.row.full = g.full + (g.row.lines - lines_of(&g));
            for (int32_t k = 0; k < 3; k++) {
                const int8_t *first = rows[k] + from + (column < 0 ? 0 : column) * p->channels;
                ar_depthwise_line_s8_dsp(&g.line, rows[k] ? first : 0, lines_of(&g) + 4 * k);
            }
            compute_row(&g, out + x * p->channels + c, 0);
            column += AR_DW_PIXELS * AR_DW_STRIP_BLOCKS;
        }
    }
}
