/* Runs segments: counts rows, finds those that a stage reads, and calls its function. */
#include "stream.h"

/* Put the addresses of the rows under the taps into `to`; the address after the last one. */
static const int8_t **window(const ar_segment *s, const ar_stage *stage, uint32_t y, uint32_t from,
                             const int8_t **to)
{
    const ar_stage *source = s->stages + from;
    const ar_progress *there = s->progress + 1 + from;
    int32_t row = (int32_t)(y * stage->stride) - stage->pad_top;
    for (uint32_t tap = 0; tap < stage->taps; tap++, row += stage->dilation) {
        /* The row before the next one stands in the slot before the next one's, and so on. */
        int32_t slot = (int32_t)there->slot + row - there->rows;
        slot += slot < 0 ? source->slots : 0;
        const int inside = row >= 0 && row < source->height;
        *to++ = inside ? source->data + slot * source->row_bytes : 0;
    }
    return to;
}

static void compute_row(const ar_segment *s, uint32_t which)
{
    const ar_stage *stage = s->stages + which;
    ar_progress *mine = s->progress + 1 + which;
    const int8_t **end = window(s, stage, mine->rows, stage->input[0], s->rows);
    if (stage->input[1] != AR_NO_STAGE) {
        window(s, stage, mine->rows, stage->input[1], end);
    }
    int8_t *out = stage->data + (uint32_t)mine->slot * stage->row_bytes;
    mine->rows++;
    if (stage->slots == 0) {
        out = mine->rows == s->stages[stage->input[0]].height ? out : 0;
    } else if (++mine->slot == stage->slots) {
        mine->slot = 0;
    }
    stage->run(stage->params, s->rows, out);
    ar_profile((uint32_t)s->layer + which);
}

/* Compute rows until one from outside is missing, or the schedule ends. */
static void advance(const ar_segment *s)
{
    while (s->progress->rows != s->steps) {
        const uint32_t which = s->schedule[s->progress->rows];
        if (which >= s->stage_count) {
            return;
        }
        compute_row(s, which);
        s->progress->rows++;
    }
}

void ar_stream_begin(const ar_segment *s)
{
    uint32_t *word = (uint32_t *)(void *)s->progress;
    for (uint32_t i = 0; i < s->clear; i++) {
        word[i] = 0;
    }
    for (uint32_t i = s->stage_count; i < (uint32_t)s->stage_count + s->source_count; i++) {
        s->progress[1 + i].rows = i == s->arriving ? 0 : s->stages[i].height;
    }
    advance(s);
}

void ar_stream_whole(const ar_segment *s) { ar_stream_begin(s); }

int8_t *ar_stream_place(const ar_segment *s)
{
    const ar_stage *source = s->stages + s->arriving;
    return s->progress->rows == s->steps
               ? 0
               : source->data + (uint32_t)s->progress[1 + s->arriving].slot * source->row_bytes;
}

void ar_stream_run(const ar_segment *s)
{
    ar_progress *arrived = s->progress + 1 + s->arriving;
    s->progress->rows++; /* the entry that waited */
    arrived->rows++;
    if (++arrived->slot == s->stages[s->arriving].slots) {
        arrived->slot = 0;
    }
    advance(s);
}
