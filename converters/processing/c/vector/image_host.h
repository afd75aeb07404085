/* Code for hosts only: it can write tensors with one plane per channel, and has vector code for rows, columns and the
 * last step.
 *
 * The results are the same bytes as those of image.h. Kernels that need more fields than ar_image has cast their `p` to
 * ar_host_image, whose first member is `image`.
 *
 * Vector code computes the outputs of a row in groups of eight. If their number is not a multiple of eight, the last
 * group begins earlier and computes some outputs again. For one or two taps, eight loaded bytes contain
 * all bytes that an output reads. For more taps, a part of the row is first unpacked to planes of bytes. Buffered rows
 * have a plane for each channel, except for rows of the kind `bytes`, whose channels are interleaved.
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
    /* `places`: the first output of each group. `near`: for each output of each group, the start of its bytes in a row
     * of the first plane, or in the unpacked part. */
    const uint32_t *places;
    const uint32_t *near;

    /* For one or two taps. `far`: for each output, the start of its bytes in a row of the chroma planes. `order`: 8
     * bytes for each output, the indices of the loaded bytes in the order in which the code needs them; indices of odd
     * outputs begin at 8, and 0x80 stands for a zero. In `order`, the outputs of a group are in the order 0, 1, 4, 5,
     * 2, 3, 6, 7. `weights`: for each group 8 words with the bits of the weights above the lowest 11 bits, then 8 words
     * with the lowest 11 bits; a word has the weights of both taps of an output. (OpenCV's weights have only 11 bits.)
     * `ahead`: for each source row from the window's top down, the row to prefetch. */
    const uint32_t *far;
    const uint8_t *order;
    const uint32_t *weights;
    const uint16_t *ahead;

    /* For more than two taps, which are read in blocks of 16. `blocks`: the number of blocks of each output. `reach`:
     * for each block of each output, the bits of the 16 weights above the lowest 11 bits, then their lowest 11 bits.
     * `unpack` unpacks `stretch_count` pixels of a row from pixel `stretch_from` on, to planes `stretch_room` bytes
     * apart. */
    uint32_t blocks;
    const int16_t *reach;
    ar_unpack *unpack;
    uint8_t *stretch; /* memory for the unpacked part */
    uint32_t stretch_room;
    uint32_t stretch_from;
    uint32_t stretch_count;
    uint8_t colours[4]; /* index of the unpacked plane of red, green and blue, and the number of planes */

    /* For lines with fractional bits: 24 offsets in the order of the channels, then 24 multipliers, 24 roundings and 24
     * shifts of ar_affine. The shifts are reduced by 32, because they apply to the high 32 bits of a product. For a
     * tensor of floats: 24 offsets, then 24 steps. */
    const int32_t *levels;
} ar_host_image;

/* Does what ar_image_run does, with the kernels and tables of `p`. */
void ar_host_run(const ar_host_image *p, const ar_picture *from, void *to, void *scratch);

/* Returns the instruction set of the vector code, "avx2" or "neon", or "" if this processor lacks it. */
const char *ar_host_vector(void);

/* Converts a line by adding the same number to each byte (modulo 256). The number is the only byte of p->table. */
void ar_finish_shift(const ar_image *p, const void *line, void *to);

/* Converts a line of grey bytes to a row of three interleaved channels, with tables. */
void ar_finish_repeated(const ar_image *p, const void *line, void *to);

/* Converts a line to one row in the plane of each channel. */
void ar_finish_planar(const ar_image *p, const void *line, void *to);

#endif
