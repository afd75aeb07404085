/* MAX_POOL_2D, int16. */
#define MAX_POOL ar_max_pool_2d_s16
#define VALUE int16_t
#define VALUE_MIN INT16_MIN

#include "max_pool_2d_body.h"
