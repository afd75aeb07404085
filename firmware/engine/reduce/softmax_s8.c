/* SOFTMAX, int8, with output scale 1/256 and zero point -128. */
#define OUTPUT int8_t
#define OUTPUT_BITS 8
#define OUTPUT_MIN INT8_MIN
#define OUTPUT_MAX INT8_MAX
#define SOFTMAX ar_softmax_s8
#include "softmax_body.h"
