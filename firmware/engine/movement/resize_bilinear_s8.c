/* RESIZE_BILINEAR, int8. Positions have units of 1/1024 pixel; outputs are rounded to nearest, ties away from zero. */
#define RESIZE ar_resize_bilinear_s8
#define VALUE int8_t
#define SUM int32_t

#include "resize_bilinear_body.h"
