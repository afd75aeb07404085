/* SELECT and SELECT_V2: copies each element from one of two inputs, of any type. */
#ifndef ARENITE_SELECT_H
#define ARENITE_SELECT_H

#include <stdint.h>

#include "broadcast.h"

typedef struct {
    const void *condition; /* bytes; true if not 0 */
    const void *if_true;
    const void *if_false;
    void *output;
    ar_broadcast shape;
    uint8_t element_size; /* bytes */
} ar_select_params;

void ar_select(const ar_select_params *p);

#endif
