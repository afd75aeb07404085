/* SOFTMAX of int8 values, int16 output with scale 1/65536 and zero point -32768. */
#define OUTPUT int16_t
#define OUTPUT_BITS 16
#define OUTPUT_MIN INT16_MIN
#define OUTPUT_MAX INT16_MAX
#define SOFTMAX ar_softmax_s8_s16
#include "softmax_body.h"
