/* FULLY_CONNECTED, int8, int32 accumulator rounded once. */
#define FULLY_CONNECTED ar_fully_connected_s8
#define MULTIPLIER int32_t
#define SCALE ar_requant_once

#include "fully_connected_s8_body.h"
