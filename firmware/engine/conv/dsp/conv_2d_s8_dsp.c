/* CONV_2D, int8: widens the inputs of blocks of 3 (or 2) neighboring pixels to int16, then multiplies them with every
 * pair of filters. The file conv_2d_blocks_dsp.h contains the code and describes the definitions below. */
#include "conv_2d_s8_dsp.h"

#include "dot_s8_dsp.h"

typedef ar_dot_s8_dsp dot_work;
#define DOT_WORK_MORE
#define DOT2 ar_dot2_s8_dsp
#define DOT3 ar_dot3_s8_dsp
#define FILTER_WORDS(groups) (2 + (groups) * 2)
#define REQUANT_WORDS 2
#define WIDENED(d, odd, pixels)
#define CONVOLUTION ar_conv_2d_s8_dsp
#define CONVOLUTION_ROW ar_conv_2d_s8_dsp_row

#include "conv_2d_blocks_dsp.h"
