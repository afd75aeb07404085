/* FULLY_CONNECTED, int8, with packed weights: computes one unit after the other, with int32 accumulators that are
 * scaled with one rounding (ar_requant_once). */
#define FULLY_CONNECTED ar_fully_connected_s8_packed
#define MULTIPLIER int32_t
#define SCALE ar_requant_once

#include "fully_connected_s8_packed_body.h"
