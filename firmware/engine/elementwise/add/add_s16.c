/* ADD and SUB, int16. */
#define ADD ar_add_s16
#define VALUE int16_t
#define LEFT_SHIFT 15

#include "add_body.h"
