/* FULLY_CONNECTED in plain C, int8, with int32 accumulators that are scaled with one rounding (ar_requant_once). */
#define FULLY_CONNECTED ar_fully_connected_s8
#define MULTIPLIER int32_t
#define SCALE ar_requant_once

#include "fully_connected_s8_body.h"
