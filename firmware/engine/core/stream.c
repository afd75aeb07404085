/* Runs segments: counts rows, finds the rows that a stage reads, and calls the function of the stage. */
#include "stream.h"

/* Functions that are not inlined, so that their frames do not add to the stack below the kernels, which `advance`
 * calls. */
#define NOT_INLINED __attribute__((noinline))

/* For clearing memory that is read as other types. */
typedef uint32_t __attribute__((__may_alias__)) word;

/* Finds the rows under the taps of a stage's window, and puts their addresses where the stage reads them. */
static NOT_INLINED void find_rows(const ar_segment *s, const ar_stage *stage, int32_t y)
{
    const int8_t **to = s->rows;
    for (uint32_t k = 0; k < 2 && stage->input[k] != AR_NO_STAGE; k++) {
        const ar_stage *source = s->stages + stage->input[k];
        const ar_progress *source_progress = s->progress + 1 + stage->input[k];
        int32_t row = y * stage->stride - stage->pad_top;
        for (uint32_t tap = stage->taps; tap != 0; tap--, row += stage->dilation) {
            /* `slot` is the slot of the source's next row; earlier rows are in the slots before it. */
            int32_t slot = source_progress->slot + row - source_progress->rows;
            slot += slot < 0 ? source->slots : 0;
            *to++ = row >= 0 && row < source->height ? source->data + slot * source->row_bytes : 0;
        }
    }
}

/* Returns the address of the stage's next row; 0 for a stage that accumulates and has not read its last row. */
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

/* Computes rows until a row of the streamed input is missing, or the schedule ends. */
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
