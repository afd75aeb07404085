/* QUANTIZE of float32 inputs, and DEQUANTIZE to float32. */
#ifndef ARENITE_QUANTIZE_H
#define ARENITE_QUANTIZE_H

#include <stdint.h>

typedef struct {
    const void *input;
    void *output;
    uint32_t count;
    float scale; /* scale and zero point of the integers */
    int32_t zero_point;
    uint8_t type; /* of the integers: AR_INT8, AR_UINT8 or AR_INT16 */
} ar_quantize_params;

/* Converts float32 to integers. The only floating-point operation is a division. */
void ar_quantize_f32(const ar_quantize_params *p);

/* Converts integers to float32. */
void ar_dequantize_f32(const ar_quantize_params *p);

#endif
