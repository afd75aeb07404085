/* CONV_2D, int8, 3 x 3 taps at stride 1, by Winograd's algorithms F(2,3), which winograd3_s8_dsp.h explains, and
 * F(2x2, 3x3), see winograd_square3_s8_dsp.h. */
#ifndef ARENITE_CONV_2D_WINOGRAD_DSP_H
#define ARENITE_CONV_2D_WINOGRAD_DSP_H

#include <stdint.h>

typedef struct {
    const int8_t *input;    /* [batches][in_h][in_w][in_c], in_c a multiple of 4 */
    int8_t *output;         /* [batches][out_h][out_w][out_c], out_w and out_c even, out_w at least 4;
                             * out_h * out_w at least 6: three tiles */
    const int32_t *filters; /* see winograd3_s8_dsp.h */
    const int32_t *requant; /* [out_c / 2][4], see winograd3_s8_dsp.h */
    void *scratch; /* 72 * in_c bytes of transformed tiles, then 4 padded rows of (out_w + 2) * in_c bytes */
    int32_t rounding; /* of the requantization, see dot_s8_dsp.h */
    uint16_t batches, in_h, in_w, in_c, out_h, out_w, out_c;
    uint8_t pad_top, pad_left;
    uint8_t shift;           /* of the requantization, see dot_s8_dsp.h */
    int8_t zero_point;       /* of the input, the value of padding */
    int8_t act_min, act_max; /* -128 and 127 when there is nothing to clamp */
} ar_conv_2d_winograd_params;

void ar_conv_2d_s8_winograd_dsp(const ar_conv_2d_winograd_params *p);

/* F(2x2, 3x3). in_c is a multiple of 16, out_h, out_w and out_c are even, out_w is at least 6. The scratch is 96 * in_c
 * bytes of transformed tiles, then 4 padded rows of (out_w + 2) * in_c bytes. */
void ar_conv_2d_s8_winograd_square_dsp(const ar_conv_2d_winograd_params *p);

#endif
