#include "image.h"

/* The line with the margin's colour from pixel `first` to `last`. */
static void fill(const ar_image *p, void *line, uint32_t first, uint32_t last)
{
    const uint32_t channels = ar_working_channels(p);
    for (uint32_t x = first; x < last; x++) {
        for (uint32_t c = 0; c < channels; c++) {
            const uint32_t at = x * channels + c;
            if (p->line_bytes == 1) {
                ((uint8_t *)line)[at] = p->fill[c];
            } else {
                ((uint32_t *)line)[at] = (uint32_t)p->fill[c] << AR_FRACTION_BITS;
            }
        }
    }
}

void ar_image_run(const ar_image *p, const ar_picture *from, void *to, void *scratch)
{
    const uint32_t channels = ar_working_channels(p);
    const uint32_t slots = p->down.taps;
    const uint32_t row_bytes = (uint32_t)p->across.outputs * channels * p->waiting_bytes;
    uint8_t *rows = scratch;
    uint8_t *line = rows + ((row_bytes * slots + 3u) & ~3u);
    uint8_t *inside = line + (uint32_t)p->left * channels * p->line_bytes;
    const uint32_t out_bytes = (uint32_t)p->canvas_width * p->channels * p->element_bytes;
    const uint32_t bottom = (uint32_t)p->top + (p->across.outputs ? p->down.outputs : 0u);
    uint8_t *out = to;
    uint32_t next = 0; /* source row that has not been read yet, counted from the window */
    uint32_t slot = 0; /* where it will wait */
    fill(p, line, 0, p->canvas_width);
    for (uint32_t y = 0; y < p->canvas_height; y++, out += out_bytes) {
        if (y == bottom) {
            fill(p, line, 0, p->canvas_width);
        }
        if (y >= p->top && y < bottom) {
            const uint32_t o = y - p->top;
            const uint32_t start = p->down.start[o];
            if (next < start) { /* nobody reads the rows between, and none of those that wait */
                next = start;
            }
            if (slots == 1 && p->waiting_bytes == 1) {
                /* A row that nothing is added to: nearest neighbours, or no resize. It may be there already. */
                if (next == start) {
                    p->row(p, from, p->window_y + next++, inside);
                }
                p->finish(p, line, out);
                continue;
            }
            for (; next < start + slots; next++) {
                p->row(p, from, p->window_y + next, rows + slot * row_bytes);
                slot = slot + 1 == slots ? 0 : slot + 1;
            }
            /* The newest row waits before `slot`, so that the oldest is at it. */
            p->column(p, rows, slot, p->down.weights + (uint32_t)o * slots, inside);
        }
        p->finish(p, line, out);
    }
}
