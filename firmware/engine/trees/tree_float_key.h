/* Compares float32 numbers without floating-point instructions. */
#ifndef ARENITE_TREE_FLOAT_KEY_H
#define ARENITE_TREE_FLOAT_KEY_H

#include <stdint.h>

/* Returns an integer for the bits of a float32 number. These integers have the same order as the numbers. */
static inline int32_t float_key(uint32_t bits)
{
    return (int32_t)(bits ^ ((uint32_t)((int32_t)bits >> 31) >> 1));
}

#endif
