/* The parameters of a convolution or a depthwise convolution on Helium in builds for small flash, and its constants in
 * six or eight bytes for each channel. The layer has one image, no dilation, and outputs limited to int8 only.
 *
 * A channel is a word and an entry of a table, which are stored after the weights. The lower bits of the word are the
 * bias, which includes the input's zero point. Its `spare` upper bits above the entry's 16 bits are the multiplier without
 * its leading one and its `dropped` lowest bits, followed by the right shift, less `shift_base`, in the bits that are left.
 * If `spare` is 0, the word is the bias, and the entry has 32 bits.
 *
 * Before a layer runs, its channels are unpacked into records of 4 or 16 lanes in scratch memory:
 *     bias int32 [lanes], multiplier int32 [lanes], shift int8 [lanes], negative for a right shift.
 */
#ifndef ARENITE_COMPACT_LAYER_MVE_H
#define ARENITE_COMPACT_LAYER_MVE_H

#include <stdint.h>

typedef struct {
    const int8_t *input; /* [in_h][in_w][in_c] */
    int8_t *output;      /* [out_h][out_w][out_c] */
    int8_t *scratch;     /* aligned to words: the records, then what the kernel needs */
    /* The weights, int8, filled up to a multiple of four bytes; then the words, filled up to a multiple of four; then the
     * table, uint16, or uint32 if `spare` is 0. */
    const uint32_t *weights;
    uint8_t spare, shift_base, dropped;
    uint8_t has_padding; /* 1 if a window begins or ends outside the image, otherwise 0 */
    uint16_t in_h, in_w, in_c, out_h, out_w, out_c;
    uint8_t k_h, k_w, stride_h, stride_w, pad_top, pad_left;
    int8_t input_zero, output_zero; /* the zero points */
} ar_compact_layer_mve;

/* Bytes of a channel in a record. */
enum { AR_COMPACT_CHANNEL_MVE = 9 };

/* Returns the output's zero point in the low half, and `two_sided` in bit 16: whether negative sums need the correction that
 * gemm_s8_mve.h describes. They do not if they all give the lowest output. */
static inline int32_t ar_compact_zero(const ar_compact_layer_mve *p)
{
    return p->output_zero == INT8_MIN ? 0xff80 : (p->output_zero & 0xffff) | 0x10000;
}

/* Writes the records of a layer with records of 4 or 16 lanes to its scratch memory. The words and the table begin
 * `weight_bytes` bytes after the weights, or up to three bytes later, at an address that is a multiple of four. Of 4 lanes,
 * the last record ends with the last channel. Of 16 lanes, they have the order of depthwise_s8_mve.h, and the first
 * channels follow the last one until the record is full. Four channels are unpacked at a time, so records of 16 lanes may
 * read up to three entries after the last channel. */
void ar_unpack_channels_mve(const ar_compact_layer_mve *p, int32_t lanes, int32_t weight_bytes);

#endif
