/* Convert a picture to a tensor in one pass: crop, resize, color, normalize, quantize.
 *
 * Only the source rows and pixels that the result needs are read, each row once. `row` unpacks the pixels, converts
 * them to the working color and resamples them across into one of the buffered rows. `column` computes a row of the
 * resized picture from the buffered rows, on a line of the canvas whose margins are filled. `finish` converts the
 * line to a row of the tensor. All tables are constant. The caller provides scratch memory.
 *
 * Scratch memory begins with the buffered rows: across.outputs * working channels * waiting_bytes * down.taps bytes,
 * rounded up to a multiple of 4; none if down.taps and waiting_bytes are 1. After them is the line: canvas_width * working channels * line_bytes bytes.
 * waiting_bytes is 1 for the row functions ar_row_bytes_*, 2 for ar_row_opencv_* and 4 for ar_row_exact_*. line_bytes
 * is 4 for ar_column_fraction, and 1 for the other column functions.
 */
#ifndef ARENITE_IMAGE_H
#define ARENITE_IMAGE_H

#include <stdint.h>

#include "affine.h"

/* The fractional bits of weights (11 for OpenCV's bilinear), and of a value that is not rounded to a byte. */
#define AR_WEIGHT_BITS 22
#define AR_FRACTION_BITS 16

/* A buffer of pixels: its planes (NV12 and NV21 have two, I420 and YV12 three), and the bytes from one row to the
 * next. */
typedef struct {
    const uint8_t *plane[3];
    uint32_t stride[3];
} ar_picture;

/* Output o reads `taps` source positions beginning at start[o], with the weights beginning at weights[o * taps]. */
typedef struct {
    const uint16_t *start;
    const int32_t *weights;
    uint16_t outputs;
    uint16_t taps;
} ar_axis;

/* The working colors: number and order of channels while resizing. */
enum { AR_RGB = 0, AR_BGR = 1, AR_GREY = 2 };

typedef struct ar_image {
    /* Resamples source row y across and writes it to `to`. */
    void (*row)(const struct ar_image *p, const ar_picture *from, uint32_t y, void *to);
    /* Computes an output row on `line` from down.taps buffered rows, the oldest of which is at index `first`. */
    void (*column)(const struct ar_image *p, const void *rows, uint32_t first, const int32_t *weights,
                   void *line);
    /* Converts a line of the canvas to a row of the tensor. */
    void (*finish)(const struct ar_image *p, const void *line, void *to);
    ar_axis across;
    ar_axis down;
    const void *table; /* 256 elements of the tensor's type, or 256 for each channel */
    ar_affine affine;  /* used instead of a table for lines with fractional bits */
    uint16_t grey[3];  /* weights of red, green and blue in grey */
    uint16_t window_x; /* the source pixel that is position 0 of the axes */
    uint16_t window_y;
    uint16_t canvas_width;
    uint16_t canvas_height;
    uint16_t left; /* position of the resized picture on the canvas */
    uint16_t top;
    uint8_t grey_bits;     /* fractional bits of the weights in `grey` */
    uint8_t working;       /* AR_RGB, AR_BGR or AR_GREY while resizing */
    uint8_t fill[3];       /* value of the margin, per working channel */
    uint8_t channels;      /* channels of the tensor; a single working channel is repeated */
    uint8_t late_grey;     /* whether colors become grey after resizing */
    uint8_t per_channel;   /* whether each channel has its own table */
    uint8_t ties_to_even;  /* whether ar_column_rounded rounds ties to even, instead of upwards */
    uint8_t waiting_bytes; /* bytes of a value in a buffered row */
    uint8_t line_bytes;    /* bytes of a value on the line */
    uint8_t element_bytes; /* bytes of an element of the tensor */
} ar_image;

/* Converts a picture to the whole tensor `to`. */
void ar_image_run(const ar_image *p, const ar_picture *from, void *to, void *scratch);

/* The state of ar_image_begin and ar_image_row, which compute one row of the tensor at a time, for a tensor that is
 * never completely in memory. Call ar_image_begin, then ar_image_row for each row y in order. */
typedef struct {
    uint8_t *rows; /* in scratch memory */
    uint8_t *line;
    uint32_t row_bytes;
    uint32_t next; /* next source row to read, counted from the window */
    uint32_t slot; /* its slot in the buffered rows */
} ar_image_rows;

void ar_image_begin(const ar_image *p, ar_image_rows *state, void *scratch);
void ar_image_row(const ar_image *p, ar_image_rows *state, const ar_picture *from, uint32_t y, void *to);

/* The same for a picture whose source rows arrive one by one, in a format with one plane. Call ar_image_begin. For each
 * source row, call ar_image_arrive; then, while ar_image_is_ready returns 1 for the next row y of the tensor, call
 * ar_image_row for it. `from` has only the row that arrived: its stride is 0.
 *
 * ar_image_arrive keeps what row y of the tensor and the later ones need of source row number `source`.
 * ar_image_is_ready returns whether row y can be computed after `arrived` source rows. */
void ar_image_arrive(const ar_image *p, ar_image_rows *state, const ar_picture *from, uint32_t source,
                     uint32_t y);
uint32_t ar_image_is_ready(const ar_image *p, uint32_t arrived, uint32_t y);

/* Returns the grey value of a color. */
static inline uint8_t ar_grey(const ar_image *p, uint32_t r, uint32_t g, uint32_t b)
{
    const uint32_t sum = r * p->grey[0] + g * p->grey[1] + b * p->grey[2];
    return (uint8_t)((sum + (1u << (p->grey_bits - 1))) >> p->grey_bits);
}

static inline uint32_t ar_working_channels(const ar_image *p) { return p->working == AR_GREY ? 1u : 3u; }

#endif
