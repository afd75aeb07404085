/* Runs a segment, which is a number of operators that are computed row by row (see stream.h). For each step of the
 * segment's schedule it finds the input rows of a stage, calls the stage's function and counts the row. */
#include "stream.h"

/* `advance` calls these functions and then the kernels. If they were inlined, their local variables would be in the
 * stack frame of `advance`, and the maximum stack would grow. */
#define NOT_INLINED __attribute__((noinline))

/* The type with which ar_stream_begin clears memory that other code accesses as other types. */
typedef uint32_t __attribute__((__may_alias__)) word;

/* Returns the address of a row of the tensor of `stage`. */
static int8_t *row_address(const ar_segment *s, const ar_stage *stage, int32_t row)
{
    const uint32_t r = (uint32_t)row;
    return stage->data + (stage->places ? (uint32_t)stage->places[r] * s->unit : r * stage->row_bytes);
}

/* Writes to s->rows the address of each input row that the stage needs for its output row y, and 0 for a row
 * outside the image. */
static NOT_INLINED void find_rows(const ar_segment *s, const ar_stage *stage, int32_t y)
{
    const int8_t **to = s->rows;
    for (uint32_t k = 0; k < 2 && stage->input[k] != AR_NO_STAGE; k++) {
        const ar_stage *source = s->stages + stage->input[k];
        int32_t row = y * stage->stride - stage->pad_top;
        for (uint32_t tap = stage->taps; tap != 0; tap--, row += stage->dilation) {
            *to++ = row >= 0 && row < source->height ? row_address(s, source, row) : 0;
        }
    }
}

/* Returns the address for output row y of a stage. For a stage that accumulates, y counts the rows of its input, and the
 * address is 0 unless the row is the last one. */
static NOT_INLINED int8_t *output_address(const ar_segment *s, const ar_stage *stage, int32_t y)
{
    if (stage->accumulates) {
        return y + 1 == s->stages[stage->input[0]].height ? stage->data : 0;
    }
    return row_address(s, stage, y);
}

/* Runs the schedule until it needs an input row that has not arrived yet, or until it ends. */
static void advance(const ar_segment *s)
{
    while (*s->counts != s->steps) {
        const uint32_t index = s->schedule[*s->counts];
        if (index >= s->stage_count) {
            return;
        }
        const ar_stage *stage = s->stages + index;
        const int32_t y = s->counts[1 + index]++;
        find_rows(s, stage, y);
        stage->run(stage->params, s->rows, output_address(s, stage, y));
        ar_profile((uint32_t)s->layer + index);
        ++*s->counts;
    }
}

void ar_stream_begin(const ar_segment *s)
{
    word *to = (word *)(void *)s->counts;
    for (uint32_t i = 0; i < s->clear; i++) {
        to[i] = 0;
    }
    advance(s);
}

void ar_stream_whole(const ar_segment *s) { ar_stream_begin(s); }

int8_t *ar_stream_place(const ar_segment *s)
{
    return *s->counts == s->steps ? 0 : row_address(s, s->stages + s->arriving, s->counts[1 + s->arriving]);
}

void ar_stream_run(const ar_segment *s)
{
    ++*s->counts; /* the schedule entry that waited for the row */
    s->counts[1 + s->arriving]++;
    advance(s);
}
