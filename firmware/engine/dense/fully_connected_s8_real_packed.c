/* FULLY_CONNECTED, int8, with packed weights: computes one unit after the other, with int32 accumulators that are
 * scaled as in double precision. */
#include "real_scale.h"

#define FULLY_CONNECTED ar_fully_connected_s8_real_packed
#define MULTIPLIER uint64_t
#define SCALE ar_scale_real

#include "fully_connected_s8_packed_body.h"
