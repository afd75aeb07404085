/* ADD and SUB, int16. The left shift is that of LiteRT. */
#define ADD ar_add_s16
#define VALUE int16_t
#define LEFT_SHIFT 15

#include "add_body.h"
