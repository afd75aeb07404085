/* Code for hosts only: tensors of planes, and vector code in place of rows, columns and the last step.
 *
 * The run is that of image.h, and so are the bytes. Kernels that need more than ar_image find it behind it: `image` is
 * the first member, and their `p` points to it.
 *
 * Vector rows take outputs in groups of eight; if their number is not a multiple of eight, the last group begins
 * earlier and computes some again. The bytes of an output with one or two taps are within the eight loaded bytes; for
 * more taps, a part of the row is unpacked first. Channels of buffered rows are separate there, except for bytes.
 */
#ifndef ARENITE_IMAGE_HOST_H
#define ARENITE_IMAGE_HOST_H

#include "image.h"

/* Pixels x to x + count of row y to planes of bytes, `room` bytes from one to the next. */
typedef void ar_unpack(const ar_picture *from, uint32_t y, uint32_t x, uint32_t count, uint8_t *to,
                       uint32_t room);

typedef struct {
    ar_image image;
    uint32_t row_bytes; /* from one row of the tensor to the next */
    uint32_t groups;    /* of eight outputs */
    /* The first output of each group; for each output, the start of its bytes in a row of the first plane, or in the
     * unpacked part. */
    const uint32_t *places;
    const uint32_t *near;

    /* One or two taps. For each output, the start of its bytes in a row of chroma's planes, and in 8 bytes which of
     * those that are fetched stands where, odd outputs counting from 8; here outputs of a group come as 0, 1, 4, 5, 2,
     * 3, 6, 7. For each group 16 weights, of two adjacent taps: the part above 11 bits, then the rest (OpenCV: all).
     * For each source row below the window's top, the row to prefetch. */
    const uint32_t *far;
    const uint8_t *order;
    const uint32_t *weights;
    const uint16_t *ahead;

    /* More than two taps. An output has blocks of 16 taps, and for each 16 weights above 11 bits, 16 of the rest. */
    uint32_t blocks;
    const int16_t *reach;
    ar_unpack *unpack;
    uint8_t *stretch; /* memory for it */
    uint32_t stretch_room;
    uint32_t stretch_from;
    uint32_t stretch_count;
    uint8_t colours[4]; /* which unpacked plane is red, green, blue; and how many there are */

    /* Fractions: 24 offsets, in the order of channels; 24 multipliers, roundings and shifts, which are 32 bits less
     * than the product's; or 24 steps. */
    const int32_t *levels;
} ar_host_image;

void ar_host_run(const ar_host_image *p, const ar_picture *from, void *to, void *scratch);

/* The instruction set of the vector code, "avx2" or "neon"; empty where this processor lacks it. */
const char *ar_host_vector(void);

/* A line whose bytes, and the table's, differ by one number (modulo 256). */
void ar_finish_shift(const ar_image *p, const void *line, void *to);

/* A line of grey bytes through tables to three channels. */
void ar_finish_repeated(const ar_image *p, const void *line, void *to);

/* A line to a row of each channel's plane. */
void ar_finish_planar(const ar_image *p, const void *line, void *to);

#endif
