/* Features of an endless recording: each new frame becomes a row of features, and the newest rows are the input of a
 * model. Only the new frame is computed.
 *
 * Frame k has the samples from k * step on, counted from the first sample after a restart. A window has the rows of
 * `rows` successive frames, the oldest first, so it equals the whole-clip conversion of a recording that begins at the
 * window's first frame. The first window is complete after `rows` frames, and one more after each `advance` frames.
 *
 * The caller owns all memory. A window stays complete while a model overwrites its input, because the rows are kept in
 * `ring`, and ar_audio_window copies them to the input before each inference.
 */
#ifndef ARENITE_AUDIO_STREAM_H
#define ARENITE_AUDIO_STREAM_H

#include <stdint.h>

/* Converts the samples of a frame to a row of features. `front` has the constants and tables, `memory` what the function
 * remembers from frame to frame (zeros after a restart; 0 if it remembers nothing). */
typedef void (*ar_frame_function)(const void *front, void *memory, const int16_t *frame, void *row,
                                  void *scratch);

/* What does not change: it can be constant data. */
typedef struct {
    ar_frame_function convert;
    const void *front;     /* first argument of `convert` */
    uint32_t step;         /* samples from the start of a frame to the start of the next */
    uint32_t row_bytes;    /* bytes of a row of features */
    uint16_t length;       /* samples of a frame */
    uint16_t rows;         /* rows of a window */
    uint16_t advance;      /* new rows from window to window, 1 to `rows` */
    uint16_t memory_bytes; /* bytes at `memory` */
} ar_audio_windows;

/* Set the first four fields, then call ar_audio_restart. */
typedef struct {
    const ar_audio_windows *plan;
    int16_t *held;       /* plan->length samples: the frame that is not yet complete */
    void *ring;          /* plan->rows rows, aligned for their elements */
    void *memory;        /* second argument of `convert` */
    uint64_t position;   /* samples taken; the newest one has the index position - 1 */
    uint32_t skip;       /* samples before the next frame that no frame reads */
    uint16_t filled;     /* samples in `held` */
    uint16_t next;       /* place of the next row in the ring, which has the oldest row if the ring is full */
    uint16_t missing;    /* rows until the next window is complete */
    uint8_t is_complete; /* whether the last call of ar_audio_feed completed a window */
} ar_audio_stream;

/* Forgets all samples and rows, at the beginning and after a gap. `position` is the index of the next sample. */
void ar_audio_restart(ar_audio_stream *s, uint64_t position);

/* Takes up to `count` samples and returns how many it took: all, or fewer if a window is complete after them. Then
 * s->is_complete is 1: use the window, and call again with the rest. `scratch` is that of the front end; it is not used
 * between calls. */
uint32_t ar_audio_feed(ar_audio_stream *s, const int16_t *samples, uint32_t count, void *scratch);

/* Returns row `index` of the window; row 0 is the oldest. */
const void *ar_audio_row(const ar_audio_stream *s, uint32_t index);

/* Copies the window to `to`, which has rows * row_bytes bytes. */
void ar_audio_window(const ar_audio_stream *s, void *to);

#endif
