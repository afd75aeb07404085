/* FULLY_CONNECTED, int8, packed weights: one unit after the other, int32 accumulator rounded once. */
#define FULLY_CONNECTED ar_fully_connected_s8_packed
#define MULTIPLIER int32_t
#define SCALE ar_requant_once

#include "fully_connected_s8_packed_body.h"
