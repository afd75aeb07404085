/* CAST. Integers keep their low bits; float32 values are rounded towards zero and saturate. */
#ifndef ARENITE_CAST_H
#define ARENITE_CAST_H

#include <stdint.h>

typedef struct {
    const void *input;
    void *output;
    uint32_t count;
    uint8_t input_type; /* AR_BOOL, AR_INT8, AR_UINT8, AR_INT16, AR_INT32, AR_INT64 or AR_FLOAT32 */
    uint8_t output_type;
} ar_cast_params;

/* Casts integers and booleans to integers and booleans. */
void ar_cast_int(const ar_cast_params *p);

/* Casts float32 to integers of up to 32 bits and to booleans. */
void ar_cast_from_f32(const ar_cast_params *p);

/* Casts integers of up to 32 bits and booleans to float32. */
void ar_cast_to_f32(const ar_cast_params *p);

#endif
