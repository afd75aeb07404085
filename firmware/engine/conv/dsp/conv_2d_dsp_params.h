/* The parameters of convolutions on cores with the DSP extension, for int8 and int4 weights. */
#ifndef ARENITE_CONV_2D_DSP_PARAMS_H
#define ARENITE_CONV_2D_DSP_PARAMS_H

#include <stdint.h>

/* The largest number of rows of a kernel. */
#define AR_CONV_DSP_ROWS 16

/* The taps of one row of a kernel are `runs` runs of bytes that lie together in the image: one of k_w * in_c bytes, or,
 * with dilation, k_w of in_c bytes. A run's bytes are taken in groups of four; what is left of it, `rest` bytes, is
 * collected after the groups of all runs; or `rest` is 0, and the last group reads on into what follows, with weights
 * of zero. So the filters' inputs are, run by run, row by row, the groups, then run by run, row by row, the rests. */
typedef struct {
    const int8_t *input;    /* [batches][in_h][in_w][in_c] */
    int8_t *output;         /* [batches][out_h][out_w][out_c] */
    const int32_t *filters; /* [(out_c + 1) / 2][2 + groups * 2], and */
    const int32_t *requant; /* the table of the requantization: see dot_s8_dsp.h */
    void *
        scratch; /* int16 [groups * 4][pixels], then the window of `pixels` pixels or [k_h][padded_w][in_c] */
    int32_t rounding;
    uint16_t batches, in_h, in_w, in_c, out_h, out_w, out_c;
    uint16_t groups;     /* inputs of a filter / 4 */
    uint16_t run_groups; /* of them, in one run */
    uint16_t pad_top, pad_left;
    uint16_t padded_w; /* not 0: rows are copied whole, with their padding, and that many pixels */
    uint8_t k_h, stride_h, stride_w, dilation_h, dilation_w;
    uint8_t runs, run_width; /* in a kernel row; pixels in a run */
    uint8_t rest;            /* bytes of a run after its groups, 0 to 3 */
    uint8_t shift, form;
    int8_t zero_point;       /* of the input: what padding reads as */
    int8_t act_min, act_max; /* -128 and 127 when there is nothing to clamp */
} ar_conv_2d_dsp_params;

#endif
