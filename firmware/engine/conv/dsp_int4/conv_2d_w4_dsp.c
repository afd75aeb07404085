/* CONV_2D, int8, int4 weights: widens the inputs of blocks of 3 (or 2) neighboring pixels to int16, then multiplies
 * them with every pair of filters. A byte has the weights of both filters of a pair, see dot_w4_dsp.h. The file
 * conv_2d_blocks_dsp.h contains the code and describes the definitions below. */
#include "conv_2d_w4_dsp.h"

#include "dot_w4_dsp.h"

typedef ar_dot_w4_dsp dot_work;
#define DOT_WORK_MORE , {0, 0, 0}
#define DOT2 ar_dot2_w4_dsp
#define DOT3 ar_dot3_w4_dsp
#define FILTER_WORDS(groups) (2 + (groups))
#define REQUANT_WORDS 3
#define WIDENED(d, odd, pixels) add_up(&(d), &(odd), pixels)
#define CONVOLUTION ar_conv_2d_w4_dsp
#define CONVOLUTION_ROW ar_conv_2d_w4_dsp_row

/* Computes eight times the sum of the inputs of each pixel, and stores it in both structures. */
static void add_up(dot_work *d, dot_work *odd, int32_t pixels)
{
    ar_sum8_dsp(d->x, d->groups * 2, pixels, d->sums);
    for (int32_t i = 0; i < pixels; i++) {
        odd->sums[i] = d->sums[i];
    }
}

#include "conv_2d_blocks_dsp.h"
