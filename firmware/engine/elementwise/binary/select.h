/* SELECT and SELECT_V2: each output element is copied from one of two inputs. They may have any type. */
#ifndef ARENITE_SELECT_H
#define ARENITE_SELECT_H

#include <stdint.h>

#include "broadcast.h"

typedef struct {
    const void *condition; /* one byte per element; a byte that is not 0 is true */
    const void *if_true;
    const void *if_false;
    void *output;
    ar_broadcast shape;
    uint8_t element_size; /* in bytes */
} ar_select_params;

void ar_select(const ar_select_params *p);

#endif
