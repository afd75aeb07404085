/* The functions for ar_image.column and ar_image.finish. */
#ifndef ARENITE_IMAGE_STEPS_H
#define ARENITE_IMAGE_STEPS_H

#include "image.h"

/* Pillow: values are rounded to bytes after resampling along the row, and again after the column. */
void ar_column_bytes(const ar_image *p, const void *rows, uint32_t first, const int32_t *weights, void *line);
/* OpenCV's bilinear resize: two rows with values of 15 bits, and weights of 11 bits. */
void ar_column_opencv(const ar_image *p, const void *rows, uint32_t first, const int32_t *weights,
                      void *line);
/* Resampling along the row kept all bits; the sum of the column keeps 16 fractional bits. */
void ar_column_fraction(const ar_image *p, const void *rows, uint32_t first, const int32_t *weights,
                        void *line);
/* Resampling along the row kept all bits; the sum of the column is rounded to a byte. */
void ar_column_rounded(const ar_image *p, const void *rows, uint32_t first, const int32_t *weights,
                       void *line);

/* Look up each byte of the row in a table with elements of 1, 2 or 4 bytes. */
void ar_finish_table_8(const ar_image *p, const void *line, void *to);
void ar_finish_table_16(const ar_image *p, const void *line, void *to);
void ar_finish_table_32(const ar_image *p, const void *line, void *to);
/* Normalize and quantize values with 16 fractional bits: see affine.h. */
void ar_finish_affine(const ar_image *p, const void *line, void *to);

#endif
