/* Converts a picture: one row of the tensor per call, or the whole tensor in one call. */
#include "image.h"

/* Fills pixels `first` to `last` - 1 of the line with the color of the margin. */
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

void ar_image_begin(const ar_image *p, ar_image_rows *state, void *scratch)
{
    const uint32_t channels = ar_working_channels(p);
    state->row_bytes = (uint32_t)p->across.outputs * channels * p->waiting_bytes;
    state->rows = scratch;
    /* If an output row is a source row, no rows are buffered: see ar_image_row. */
    const uint32_t slots = p->down.taps == 1 && p->waiting_bytes == 1 ? 0 : p->down.taps;
    state->line = state->rows + ((state->row_bytes * slots + 3u) & ~3u);
    state->next = 0;
    state->slot = 0;
    fill(p, state->line, 0, p->canvas_width);
}

void ar_image_row(const ar_image *p, ar_image_rows *state, const ar_picture *from, uint32_t y, void *to)
{
    const uint32_t slots = p->down.taps;
    const uint32_t bottom = (uint32_t)p->top + (p->across.outputs ? p->down.outputs : 0u);
    if (y == bottom) {
        fill(p, state->line, 0, p->canvas_width);
    }
    if (y >= p->top && y < bottom) {
        const uint32_t o = y - p->top;
        const uint32_t start = p->down.start[o];
        uint8_t *inside = state->line + (uint32_t)p->left * ar_working_channels(p) * p->line_bytes;
        if (state->next < start) { /* the rows before `start` are not needed */
            state->next = start;
        }
        if (slots == 1 && p->waiting_bytes == 1) {
            /* An output row is a source row (nearest neighbor, or no resize). The line may already have it. */
            if (state->next == start) {
                p->row(p, from, p->window_y + state->next++, inside);
            }
        } else {
            for (; state->next < start + slots; state->next++) {
                p->row(p, from, p->window_y + state->next, state->rows + state->slot * state->row_bytes);
                state->slot = state->slot + 1 == slots ? 0 : state->slot + 1;
            }
            /* The newest row is in the slot before `slot`, so the oldest is in `slot`. */
            p->column(p, state->rows, state->slot, p->down.weights + o * slots, inside);
        }
    }
    p->finish(p, state->line, to);
}

void ar_image_run(const ar_image *p, const ar_picture *from, void *to, void *scratch)
{
    ar_image_rows state;
    uint8_t *out = to;
    ar_image_begin(p, &state, scratch);
    for (uint32_t y = 0; y < p->canvas_height; y++) {
        ar_image_row(p, &state, from, y, out);
        out += (uint32_t)p->canvas_width * p->channels * p->element_bytes;
    }
}
