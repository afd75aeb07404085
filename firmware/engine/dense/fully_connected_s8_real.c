/* FULLY_CONNECTED in plain C, int8, with int32 accumulators that are scaled as in double precision. */
#include "real_scale.h"

#define FULLY_CONNECTED ar_fully_connected_s8_real
#define MULTIPLIER uint64_t
#define SCALE ar_scale_real

#include "fully_connected_s8_body.h"
