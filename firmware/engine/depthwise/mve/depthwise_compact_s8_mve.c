/* DEPTHWISE_CONV_2D with any window, int8, for Helium in builds for small flash. */
#include "depthwise_compact_rows_mve.h"

void ar_depthwise_compact_s8_mve(const ar_compact_layer_mve *p)
{
    ar_depthwise_compact_mve(p, ar_depthwise_compact_run_mve);
}
