/* RESIZE_BILINEAR, int16. Positions have units of 1/1024 pixel; outputs are rounded to nearest, ties away from zero. */
#define RESIZE ar_resize_bilinear_s16
#define VALUE int16_t
#define SUM int64_t

#include "resize_bilinear_body.h"
