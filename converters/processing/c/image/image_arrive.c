/* Converts a picture whose source rows arrive one by one: keeps of each row what the tensor's rows need. */
#include "image.h"

/* Returns the first row of the tensor below the resized picture. */
static uint32_t bottom(const ar_image *p)
{
    return (uint32_t)p->top + (p->across.outputs ? p->down.outputs : 0u);
}

void ar_image_arrive(const ar_image *p, ar_image_rows *state, const ar_picture *from, uint32_t source,
                     uint32_t y)
{
    const uint32_t slots = p->down.taps;
    if (source < p->window_y || y >= bottom(p) || (slots == 1 && p->waiting_bytes == 1)) {
        return; /* the row is not needed, or ar_image_row reads it at once */
    }
    const uint32_t start = p->down.start[y < p->top ? 0 : y - p->top];
    if (state->next < start) { /* the rows before `start` are not needed */
        state->next = start;
    }
    if (source - p->window_y == state->next) {
        p->row(p, from, source, state->rows + state->slot * state->row_bytes);
        state->slot = state->slot + 1 == slots ? 0 : state->slot + 1;
        state->next++;
    }
}

uint32_t ar_image_is_ready(const ar_image *p, uint32_t arrived, uint32_t y)
{
    if (y < p->top || y >= bottom(p)) {
        return 1; /* only margin */
    }
    return p->window_y + p->down.start[y - p->top] + (uint32_t)p->down.taps <= arrived;
}
