/* A picture to a tensor in one pass: crop, resize, colour, normalise, quantise.
 *
 * Each source row that a result needs is read once, and only the pixels that the result needs: `row` unpacks them,
 * converts them to the working colour and resamples them across into one of the buffered rows. `column` computes a
 * row of the resized picture from these, on a line of the canvas whose margins are filled; `finish` converts that
 * line to a row of the tensor. All tables are constant; scratch memory is the caller's.
 *
 * Scratch: across.outputs * channels while resizing * bytes of a buffered value (1 bytes, 2 opencv, 4 others) *
 * down.taps, rounded up to 4; then a line: canvas_width * channels * (4 for fractions, else 1).
 */
#ifndef ARENITE_IMAGE_H
#define ARENITE_IMAGE_H

#include <stdint.h>

#include "affine.h"

/* Fractional bits of weights (11 for OpenCV's bilinear), and of a value that is not rounded to a byte. */
#define AR_WEIGHT_BITS 22
#define AR_FRACTION_BITS 16

/* A buffer of pixels: its planes (NV12 and NV21 have two, I420 and YV12 three), and from one row to the next in
 * bytes. */
typedef struct {
    const uint8_t *plane[3];
    uint32_t stride[3];
} ar_picture;

/* Output o reads `taps` source positions from start[o] on, with weights[o * taps ...]. */
typedef struct {
    const uint16_t *start;
    const int32_t *weights;
    uint16_t outputs;
    uint16_t taps;
} ar_axis;

/* Working colours: the number and order of channels. */
enum { AR_RGB = 0, AR_BGR = 1, AR_GREY = 2 };

typedef struct ar_image {
    /* Source row y, resampled across, to `to`. */
    void (*row)(const struct ar_image *p, const ar_picture *from, uint32_t y, void *to);
    /* Output row: buffered rows, the oldest at `first` of down.taps, with `weights`, to `line`. */
    void (*column)(const struct ar_image *p, const void *rows, uint32_t first, const int32_t *weights,
                   void *line);
    /* A line of the canvas to a row of the tensor. */
    void (*finish)(const struct ar_image *p, const void *line, void *to);
    ar_axis across;
    ar_axis down;
    const void *table; /* 256 elements of the tensor, or 256 for each channel */
    ar_affine affine;  /* of fractions, which have no table */
    uint16_t grey[3];  /* weights of red, green and blue in grey */
    uint16_t window_x; /* the source pixel that the axes count from */
    uint16_t window_y;
    uint16_t canvas_width;
    uint16_t canvas_height;
    uint16_t left; /* of the resized picture on the canvas */
    uint16_t top;
    uint8_t grey_bits;
    uint8_t working;  /* AR_RGB, AR_BGR or AR_GREY while resizing */
    uint8_t fill[3];  /* margin, per working channel */
    uint8_t channels; /* of the tensor: a single working channel is repeated */
    uint8_t late_grey;
    uint8_t per_channel; /* a table for each channel */
    uint8_t ties_to_even;
    uint8_t waiting_bytes; /* of a value in a buffered row */
    uint8_t line_bytes;    /* of a value on the line */
    uint8_t element_bytes; /* of the tensor */
} ar_image;

void ar_image_run(const ar_image *p, const ar_picture *from, void *to, void *scratch);

/* The same row by row, for a tensor that is never held whole: begin, then each row in order. */
typedef struct {
    uint8_t *rows; /* in scratch memory */
    uint8_t *line;
    uint32_t row_bytes;
    uint32_t next; /* source row that has not been read yet, counted from the window */
    uint32_t slot; /* its slot in the buffered rows */
} ar_image_rows;

void ar_image_begin(const ar_image *p, ar_image_rows *state, void *scratch);
void ar_image_row(const ar_image *p, ar_image_rows *state, const ar_picture *from, uint32_t y, void *to);

/* Red, green and blue in the order of the weights that grey has. */
static inline uint8_t ar_grey(const ar_image *p, uint32_t r, uint32_t g, uint32_t b)
{
    const uint32_t sum = r * p->grey[0] + g * p->grey[1] + b * p->grey[2];
    return (uint8_t)((sum + (1u << (p->grey_bits - 1))) >> p->grey_bits);
}

static inline uint32_t ar_working_channels(const ar_image *p) { return p->working == AR_GREY ? 1u : 3u; }

#endif
