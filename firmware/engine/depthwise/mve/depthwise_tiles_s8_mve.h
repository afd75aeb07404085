/* DEPTHWISE_CONV_2D with windows of 3 x 3 at stride 1 or 2, int8, for Helium, one channel at a time. NHWC.
 *
 * A strip holds four neighboring input rows and their padding as words, [columns][channels]: the bytes of a word are
 * the four rows of one column. One VLDRW that gathers four columns then loads a tile of 4 x 4 inputs of one channel.
 * At stride 1 a tile has the inputs of 2 x 2 outputs, at stride 2 of one output. One VMLADAV computes each output, with
 * weights that are 0 at the inputs that do not belong to the output.
 *
 * A pass computes eight outputs of a channel: those of two tiles at stride 1, or four pairs of outputs that are
 * neighbors in a row at stride 2. The table of passes has the offsets of their inputs and outputs, which are the same
 * for all channels. If the size of the output is odd, some outputs are computed twice, with the same result. Several
 * strips form a group, so that a channel is set up once for all their passes.
 *
 * A channel's constants are nine words: 0, the three columns of its weights (each is the weights of the three rows and
 * a 0), 0, the bias, which includes the input's zero point, the multiplier, 24 - n and (output_zero << n) + 2^(n - 1),
 * where n is the right shift, 0 to 24 (for n = 0 the last word is the zero point alone).
 *
 * Requantization computes the same as LiteRT's. VQRDMLASH multiplies like SaturatingRoundingDoublingHighMul (see
 * gemm_s8_mve.h) and adds the last word, which contains the rounding of the shift. The right shift by n and the
 * limitation to int8 are one saturating shift to the left by 24 - n: the output is the highest byte. The rounding of
 * the shift is LiteRT's for values from 0 on. With `two_sided`, one is subtracted before if the sum is negative. That
 * gives LiteRT's result for negative values and n >= 1, and does not change the result if the product is rounded to 0.
 */
#ifndef ARENITE_DEPTHWISE_TILES_S8_MVE_H
#define ARENITE_DEPTHWISE_TILES_S8_MVE_H

#include <stdint.h>

typedef struct {
    const int8_t *input;      /* [batches][in_h][in_w][channels] */
    int8_t *output;           /* [batches][out_h][out_w][channels] */
    const int32_t *constants; /* [channels][9] */
    /* The passes of a group, and those of the last group of an image, which can have fewer strips. At stride 1 a pass
     * is, for each tile, the offsets of its four columns in the strips. At stride 2 it is, for each of four pairs of
     * outputs, the offsets of the columns of the first output. Then follow the offsets of the outputs as eight
     * halfwords: those of the second four outputs alternate with those of the first four. All offsets are in bytes and
     * for channel 0. At stride 1, four words that are not used follow the last pass. */
    const uint32_t *passes;
    const uint32_t *last_passes;
    uint32_t *strips; /* scratch: [strips of a group][columns][channels] */
    int8_t *
        padding; /* scratch: [in_w * channels], a row of the input's zero point; 0 if no strip has such a row */
    uint16_t batches, in_h, in_w, channels; /* in_w * channels is at least 16 */
    uint16_t out_h, out_w;                  /* out_h is at least 2 at stride 1 */
    uint16_t columns;                       /* of a strip, with those of the padding */
    uint16_t group_strips;
    uint16_t pass_count, last_pass_count;
    uint8_t pad_top, pad_left, stride;
    uint8_t two_sided;       /* 0 or 1, as in gemm_s8_mve.h */
    int8_t input_zero;       /* the input's zero point */
    int8_t act_min, act_max; /* outputs are clamped to this range */
} ar_depthwise_tiles_params;

void ar_depthwise_tiles_s8_mve(const ar_depthwise_tiles_params *p);

#endif
