/* FULLY_CONNECTED with one row of inputs, int8, int4 weights: widens the row to int16 once, then multiplies it with
 * quads of filters. The file fully_connected_row_dsp.h contains the code and describes the definitions below. */
#include "fully_connected_w4_dsp.h"

#include "row_dot_w4_dsp.h"

typedef ar_row_dot_w4_dsp dot_work;
#define FULLY_CONNECTED ar_fully_connected_w4_dsp
#define DOT_WORK_MORE .sum = sums[0] + sums[1]
#define DOT4 ar_row_dot4_w4_dsp
#define QUAD_WORDS 4
#define GROUP_WORDS 4
#define QUAD_REQUANT_WORDS 8
/* Also computes eight times the sum of the inputs in the even words, sums[0], and in the odd words, sums[1]. */
#define WIDEN(p)                                     \
    widen_row((p)->scratch, (p)->input, (p)->depth); \
    int32_t sums[3];                                 \
    ar_sum8_dsp((p)->scratch, (p)->groups * 2, 2, sums)

#include "fully_connected_row_dsp.h"
