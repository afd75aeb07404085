/* MUL, int8. */
#define MUL ar_mul_s8
#define VALUE int8_t

#include "mul_body.h"
