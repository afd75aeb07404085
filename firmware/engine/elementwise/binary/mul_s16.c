/* MUL, int16. */
#define MUL ar_mul_s16
#define VALUE int16_t

#include "mul_body.h"
