/* Loads and stores integer elements of any type, for kernels in which code size matters more than speed. */
#ifndef ARENITE_ELEMENT_H
#define ARENITE_ELEMENT_H

#include <stdint.h>

#include "arenite.h"

/* Returns the size in bytes of an element of type AR_BOOL, AR_INT8, AR_UINT8, AR_INT16 or AR_INT32. */
static inline uint32_t ar_element_size(uint32_t type)
{
    return type == AR_INT32 ? 4 : type == AR_INT16 ? 2 : 1;
}

/* Returns the element at `address`. Bytes of type AR_BOOL and AR_UINT8 are unsigned. */
static inline int32_t ar_load(const void *address, uint32_t type)
{
    if (type == AR_INT8) {
        return *(const int8_t *)address;
    }
    if (type == AR_INT16) {
        return *(const int16_t *)address;
    }
    if (type == AR_INT32) {
        return *(const int32_t *)address;
    }
    return *(const uint8_t *)address;
}

/* Stores the low bits of `value` as an element at `address`. */
static inline void ar_store(void *address, uint32_t type, int32_t value)
{
    if (type == AR_INT32) {
        *(int32_t *)address = value;
    } else if (type == AR_INT16) {
        *(int16_t *)address = (int16_t)value;
    } else {
        *(uint8_t *)address = (uint8_t)value;
    }
}

#endif
