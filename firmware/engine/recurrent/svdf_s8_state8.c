/* SVDF with int8 activations, weights and state, as in TensorFlow Lite Micro. */
#define STATE int8_t
#define STATE_MIN (-128)
#define STATE_MAX 127
#define STATE_ZERO_POINT(p) ((p)->state_zero_point)
#define SVDF ar_svdf_s8_state8
#include "svdf_body.h"
