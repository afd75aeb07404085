/* ADD and SUB for WebAssembly's 128-bit SIMD, int8. */
#ifndef ARENITE_ADD_S8_SIMD128_H
#define ARENITE_ADD_S8_SIMD128_H

#include "add_linear.h"

/* The output may be one of the inputs. */
void ar_add_s8_simd128(const ar_add_linear_params *p);

/* Computes one row, see ar_row_fn in stream.h. `count` is the number of elements of a row. */
void ar_add_s8_simd128_row(const void *params, const int8_t *const *rows, int8_t *out);

#endif
