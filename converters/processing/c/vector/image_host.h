/* What only hosts have: tensors of planes, and vector code in place of rows, columns and the end.
 *
 * The run is that of image.h, and so are the bytes. Kernels that need more than ar_image find it behind it: `image` is
 * the first member, and their `p` points to it.
 *
 * Vector rows take outputs in groups of eight; of outputs that are no multiple of eight the last group begins earlier,
 * and makes some again. Of an output with one or two taps, the bytes lie within the eight that are fetched; for more, a
 * stretch of the row is unpacked first. Channels of waiting rows stand apart there, but for bytes.
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
    /* Of each group, its first output. Of each output, where its bytes begin in a row of the first plane, or in the
     * stretch. */
    const uint32_t *places;
    const uint32_t *near;

    /* Of one or two taps. For each output, where its bytes begin in a row of chroma's planes, and in 8 bytes which of
     * those that are fetched stands where, odd outputs counting from 8; here outputs of a group come as 0, 1, 4, 5, 2,
     * 3, 6, 7. For each group 16 weights, of two taps side by side: what is above 11 bits, then the rest (OpenCV: all).
     * For each source row below the window's top, the one to ask memory for meanwhile. */
    const uint32_t *far;
    const uint8_t *order;
    const uint32_t *weights;
    const uint16_t *ahead;

    /* Of more. An output has blocks of 16 taps, and for each 16 weights above 11 bits, then 16 of the rest. */
    uint32_t blocks;
    const int16_t *reach;
    ar_unpack *unpack;
    uint8_t *stretch; /* memory for it */
    uint32_t stretch_room;
    uint32_t stretch_from;
    uint32_t stretch_count;
    uint8_t colours[4]; /* which unpacked plane is red, green, blue; and how many there are */

    /* Of fractions: 24 offsets, as channels come; 24 multipliers, roundings and shifts, which are 32 bits less than the
     * product's; or 24 steps. */
    const int32_t *levels;
} ar_host_image;

void ar_host_run(const ar_host_image *p, const ar_picture *from, void *to, void *scratch);

/* What the vector code here is written for, "avx2" or "neon"; empty where this processor has no such thing. */
const char *ar_host_vector(void);

/* A line whose bytes, and the table's, differ by one number (modulo 256). */
void ar_finish_shift(const ar_image *p, const void *line, void *to);

/* A line of grey bytes through tables to three channels. */
void ar_finish_repeated(const ar_image *p, const void *line, void *to);

/* A line to a row of each channel's plane. */
void ar_finish_planar(const ar_image *p, const void *line, void *to);

#endif
