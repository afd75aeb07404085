/* FULLY_CONNECTED with one row of inputs, int8: widens the row to int16 once, then multiplies it with quads of filters.
 * The file fully_connected_row_dsp.h contains the code and describes the definitions below. */
#include "fully_connected_s8_dsp.h"

#include "row_dot_s8_dsp.h"

typedef ar_row_dot_s8_dsp dot_work;
#define FULLY_CONNECTED ar_fully_connected_s8_dsp
#define DOT_WORK_MORE .products = products
#define DOT4 ar_row_dot4_s8_dsp
#define QUAD_WORDS 4
#define GROUP_WORDS 8
#define QUAD_REQUANT_WORDS 6
#define WIDEN(p) const int32_t products = widen_row((p)->scratch, (p)->input, (p)->depth)

#include "fully_connected_row_dsp.h"
