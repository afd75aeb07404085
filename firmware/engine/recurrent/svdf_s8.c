/* SVDF with int8 activations and feature weights, and int16 state and time weights. */
#define STATE int16_t
#define STATE_MIN (-32768)
#define STATE_MAX 32767
/* LiteRT takes the zero point of an int16 state for 0. */
#define STATE_ZERO_POINT(p) 0
#define SVDF ar_svdf_s8
#include "svdf_body.h"
