/* Code for hosts only: tensors with one plane per channel, and vector code for rows, columns and the last step.
 *
 * The result has the same bytes as that of image.h. Kernels that need more fields than those of ar_image cast their
 * `p` to ar_host_image, whose first member is `image`.
 *
 * Vector code computes the outputs of a row in groups of eight. If their number is not a multiple of eight, the last
 * group begins earlier and computes some outputs again. For one or two taps, the bytes of an output are within eight
 * loaded bytes. For more taps, a part of the row is unpacked first. Buffered rows have separate channels, except for
 * bytes.
 */
#ifndef ARENITE_IMAGE_HOST_H
#define ARENITE_IMAGE_HOST_H

#include "image.h"

/* Unpacks pixels x to x + count - 1 of row y to planes of bytes; the distance between two planes is `room` bytes. */
typedef void ar_unpack(const ar_picture *from, uint32_t y, uint32_t x, uint32_t count, uint8_t *to,
                       uint32_t room);

typedef struct {
    ar_image image;
    uint32_t row_bytes; /* bytes from one row of the tensor to the next */
    uint32_t groups;    /* groups of eight outputs */
    /* The first output of each group; for each output, the start of its bytes in a row of the first plane, or in the
     * unpacked part. */
    const uint32_t *places;
    const uint32_t *near;

    /* One or two taps. For each output, the start of its bytes in a row of chroma's planes, and in 8 bytes which of
     * those that are fetched stands where, odd outputs counting from 8; here outputs of a group come as 0, 1, 4, 5,
     * 2, 3, 6, 7. For each group 16 weights, of two adjacent taps: the part above 11 bits, then the rest (OpenCV:
     * all). For each source row below the window's top, the row to prefetch. */
    const uint32_t *far;
    const uint8_t *order;
    const uint32_t *weights;
    const uint16_t *ahead;

    /* More than two taps. An output has blocks of 16 taps, and for each 16 weights above 11 bits, 16 of the rest. */
    uint32_t blocks;
    const int16_t *reach;
    ar_unpack *unpack;
    uint8_t *stretch; /* memory for the unpacked part */
    uint32_t stretch_room;
    uint32_t stretch_from;
    uint32_t stretch_count;
    uint8_t colours[4]; /* index of the unpacked plane of red, green and blue, and the number of planes */

    /* For fractions: 24 offsets in the order of the channels, then 24 multipliers, 24 roundings and 24 shifts. The
     * shifts are those of the product minus 32. For float: 24 offsets, then 24 steps. */
    const int32_t *levels;
} ar_host_image;

void ar_host_run(const ar_host_image *p, const ar_picture *from, void *to, void *scratch);

/* Returns the instruction set of the vector code, "avx2" or "neon", or "" if this processor lacks it. */
const char *ar_host_vector(void);

/* Converts a line with a table that adds the same number to each byte (modulo 256). */
void ar_finish_shift(const ar_image *p, const void *line, void *to);

/* Converts a line of grey bytes to three channels with tables. */
void ar_finish_repeated(const ar_image *p, const void *line, void *to);

/* Converts a line to a row of each channel's plane. */
void ar_finish_planar(const ar_image *p, const void *line, void *to);

#endif
