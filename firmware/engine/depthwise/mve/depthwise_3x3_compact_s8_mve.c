/* DEPTHWISE_CONV_2D with windows of 3 x 3, int8, for Helium in builds for small flash. */
#include "depthwise_compact_rows_mve.h"

void ar_depthwise_3x3_compact_s8_mve(const ar_compact_layer_mve *p)
{
    ar_depthwise_compact_mve(p, ar_depthwise_3x3_compact_run_mve);
}
