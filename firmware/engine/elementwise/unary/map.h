/* Computes any function of one element with a table. */
#ifndef ARENITE_MAP_H
#define ARENITE_MAP_H

#include <stdint.h>

typedef struct {
    const void *input;
    void *output;
    const void *table;
    uint32_t count;
} ar_map_params;

/* Maps bytes to bytes. The table has 256 bytes; its index is the input as an unsigned byte. */
void ar_map_8(const ar_map_params *p);

/* Maps one row of `count` bytes, see ar_row_fn in stream.h. */
void ar_map_8_row(const void *params, const int8_t *const *rows, int8_t *out);

/* Maps int16 to int16. The table has 513 values, see lut_s16.h. */
void ar_map_s16(const ar_map_params *p);

/* Flips the top bit of each byte. This converts int8 to uint8 or back if the scales are equal. The table is not
 * used. */
void ar_flip_8(const ar_map_params *p);

#endif
