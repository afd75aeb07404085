/* Runs a segment, which is a number of operators that are computed row by row (see stream.h). For each step of the
 * segment's schedule it finds the input rows of a stage, calls the stage's function and counts the row. */
#include "stream.h"

/* `advance` calls these functions and then the kernels. If they were inlined, their local variables would be in the
 * stack frame of `advance`, and the maximum stack would grow. */
#define NOT_INLINED __attribute__((noinline))

/* The type with which ar_stream_begin clears memory that other code accesses as other types. */
typedef uint32_t __attribute__((__may_alias__)) word;

/* Writes to s->rows the address of each input row that the stage needs for its output row y, and 0 for a row
 * outside the image. */
static NOT_INLINED void find_rows(const ar_segment *s, const ar_stage *stage, int32_t y)
{
    const int8_t **to = s->rows;
    for (uint32_t k = 0; k < 2 && stage->input[k] != AR_NO_STAGE; k++) {
        const ar_stage *source = s->stages + stage->input[k];
        const ar_progress *source_progress = s->progress + 1 + stage->input[k];
        int32_t row = y * stage->stride - stage->pad_top;
        for (uint32_t tap = stage->taps; tap != 0; tap--, row += stage->dilation) {
            /* source_progress->slot is the slot of the source's next row, and earlier rows are in the slots before it.
             * `slot` becomes the slot of `row`. */
            int32_t slot = source_progress->slot + row - source_progress->rows;
            slot += slot < 0 ? source->slots : 0;
            *to++ = row >= 0 && row < source->height ? source->data + slot * source->row_bytes : 0;
        }
    }
}

/* Counts the stage's next row and moves on to the next slot. Returns the address for that row. For a stage that
 * accumulates, returns 0 unless the row is the last row of the stage's input. */
static NOT_INLINED int8_t *take_slot(const ar_segment *s, const ar_stage *stage, ar_progress *own_progress)
{
    int8_t *out = stage->data + (uint32_t)own_progress->slot * stage->row_bytes;
    own_progress->rows++;
    if (stage->slots == 0) {
        return own_progress->rows == s->stages[stage->input[0]].height ? out : 0;
    }
    if (++own_progress->slot == stage->slots) {
        own_progress->slot = 0;
    }
    return out;
}

/* Runs the schedule until it needs an input row that has not arrived yet, or until it ends. */
static void advance(const ar_segment *s)
{
    while (s->progress->rows != s->steps) {
        const uint32_t index = s->schedule[s->progress->rows];
        if (index >= s->stage_count) {
            return;
        }
        const ar_stage *stage = s->stages + index;
        ar_progress *own_progress = s->progress + 1 + index;
        find_rows(s, stage, own_progress->rows);
        stage->run(stage->params, s->rows, take_slot(s, stage, own_progress));
        ar_profile((uint32_t)s->layer + index);
        s->progress->rows++;
    }
}

void ar_stream_begin(const ar_segment *s)
{
    word *to = (word *)(void *)s->progress;
    for (uint32_t i = 0; i < s->clear; i++) {
        to[i] = 0;
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
    s->progress->rows++; /* the schedule entry that waited for the row */
    arrived->rows++;
    if (++arrived->slot == s->stages[s->arriving].slots) {
        arrived->slot = 0;
    }
    advance(s);
}
