/* Streaming: operators that run together row by row, so that the tensors between them are never complete in memory.
 *
 * A segment is a table of stages, each of which computes one row of its output at a time, and a schedule: the order in
 * which they run, fixed when the model was generated. A tensor inside a segment has slots for some of its rows, used in
 * turn: row r is in slot r modulo slots. The planner has proven that every row is read before its slot is used again.
 */
#ifndef ARENITE_STREAM_H
#define ARENITE_STREAM_H

#include <stdint.h>

/* Computes one row of an operator's output. `params` is the structure of the whole-tensor kernel; `rows` has the
 * address of each input row that it reads: the rows under the taps of the window from top to bottom, 0 for a row
 * outside the image. For two inputs, the rows of the first input come first. */
typedef void (*ar_row_fn)(const void *params, const int8_t *const *rows, int8_t *out);

#define AR_NO_STAGE 255

/* A stage; or a source, which is a tensor that the segment only reads, and has no function. */
typedef struct {
    ar_row_fn run;
    const void *params;
    int8_t *data; /* slot 0 of the tensor that it computes */
    uint16_t row_bytes;
    uint16_t
        slots; /* 0: the stage accumulates one input row per call, and writes its only output row in the last call */
    uint16_t height;  /* rows of the tensor */
    uint8_t input[2]; /* the stages or sources that it reads; the second may be AR_NO_STAGE */
    /* Output row y reads the rows y * stride - pad_top + k * dilation for k in [0, taps). */
    uint8_t taps, stride, dilation, pad_top;
} ar_stage;

/* Progress of a stage or source. */
typedef struct {
    uint16_t rows; /* rows computed or received; for a stage that accumulates, rows read */
    uint16_t slot; /* the slot of the next row */
} ar_progress;

typedef struct ar_segment {
    const ar_stage *stages; /* the stages, then the sources */
    const uint8_t *
        schedule; /* stages in the order in which they compute rows; the number of a source: its next row arrives */
    ar_progress *progress; /* of the schedule (`rows` counts its entries), then of each stage and source */
    const int8_t **rows;   /* room for the addresses of the rows that one stage reads */
    uint16_t steps;        /* entries of the schedule */
    uint16_t clear; /* words from `progress` on to clear before the first row: progress and accumulators */
    uint16_t layer; /* number of the first stage among the model's layers */
    uint8_t stage_count;
    uint8_t source_count;
    uint8_t arriving; /* the source whose rows arrive one by one; AR_NO_STAGE for none */
} ar_segment;

/* Runs the whole segment. All its sources must be complete in memory. */
void ar_stream_whole(const ar_segment *s);

/* Run a segment whose source arrives row by row. Call ar_stream_begin first. Then, until ar_stream_place returns 0,
 * copy the next row to the address that it returns, and call ar_stream_run, which computes all rows that are now
 * possible. */
void ar_stream_begin(const ar_segment *s);
int8_t *ar_stream_place(const ar_segment *s);
void ar_stream_run(const ar_segment *s);

/* In firmware that reports the time of each layer, adds the time since the previous call to `layer`. */
#ifdef AR_PROFILE
void ar_profile(uint32_t layer);
#else
#define ar_profile(layer) ((void)(layer))
#endif

#endif
