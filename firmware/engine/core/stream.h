/* Streaming: operators that run together row by row, so that the tensors between them are never complete in memory.
 *
 * A segment has a table of stages and a schedule. A stage is an operator that computes one row of its output per call.
 * The schedule is the order of these calls, which was fixed when the model was generated, and so was the place of each
 * row of the tensors inside the segment. Rows of all these tensors share memory: a row is at the place of other rows
 * that are no longer needed. The planner has proven that every row is read before its memory is used again.
 */
#ifndef ARENITE_STREAM_H
#define ARENITE_STREAM_H

#include <stdint.h>

/* Computes one row of an operator's output. `params` is the parameter structure of the kernel for the whole tensor.
 * `rows` has the address of each input row that the operator's window covers, from top to bottom, and 0 for a row
 * outside the image. For two inputs, the rows of the first input come first. `out` may be one of the rows only if the
 * operator's requirements say so (RowRequirements.in_place). */
typedef void (*ar_row_fn)(const void *params, const int8_t *const *rows, int8_t *out);

#define AR_NO_STAGE 255

/* A stage or a source. A source is a tensor that the segment only reads; it has no function. */
typedef struct {
    ar_row_fn run;
    const void *params;
    /* Row r of the stage's output tensor, or of the source, is at `data` + places[r] * (the segment's `unit`). If
     * `places` is 0, the tensor is complete in memory, and begins at `data`. */
    int8_t *data;
    const uint16_t *places;
    uint16_t row_bytes;
    uint16_t height; /* rows of the tensor */
    /* The numbers of the stages or sources that the stage reads; the second may be AR_NO_STAGE. */
    uint8_t input[2];
    /* Output row y needs the input rows y * stride - pad_top + k * dilation for k in [0, taps). */
    uint8_t taps, stride, dilation, pad_top;
    /* 1: the stage accumulates one input row per call, and writes its only output row in the last call. */
    uint8_t accumulates;
} ar_stage;

typedef struct ar_segment {
    const ar_stage *stages; /* the stages, then the sources */
    const uint8_t *
        schedule; /* per step the number of a stage, which computes its next row, or of the source that arrives */
    /* The number of finished steps; then for each stage and source, the number of rows that it has computed or received.
     * For a stage that accumulates, it is the number of rows that it has read. */
    uint16_t *counts;
    const int8_t **rows; /* room for the addresses of the rows that one stage reads */
    uint16_t steps;      /* entries of the schedule */
    uint16_t clear;      /* words from `counts` on that are cleared at the start: counts and accumulators */
    uint16_t unit;       /* bytes: the places of rows are multiples of this number */
    uint16_t layer;      /* index of the first stage among the model's layers */
    uint8_t stage_count;
    /* The number of the source whose rows arrive one by one; AR_NO_STAGE if there is none. A schedule entry with this
     * number waits for the next row. */
    uint8_t arriving;
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
