/* The functions for ar_image.column and ar_image.finish. */
#ifndef ARENITE_IMAGE_STEPS_H
#define ARENITE_IMAGE_STEPS_H

#include "image.h"

/* Pillow: values are rounded to bytes after resampling across, and again here. */
void ar_column_bytes(const ar_image *p, const void *rows, uint32_t first, const int32_t *weights, void *line);
/* OpenCV's bilinear: two rows of 15 bits, with weights of 11 bits. */
void ar_column_opencv(const ar_image *p, const void *rows, uint32_t first, const int32_t *weights,
                      void *line);
/* Exact across, 16 fractional bits here. */
void ar_column_fraction(const ar_image *p, const void *rows, uint32_t first, const int32_t *weights,
                        void *line);
/* Exact across, then a byte. */
void ar_column_rounded(const ar_image *p, const void *rows, uint32_t first, const int32_t *weights,
                       void *line);

/* Bytes by a table of elements of 1, 2 or 4 bytes. */
void ar_finish_table_8(const ar_image *p, const void *line, void *to);
void ar_finish_table_16(const ar_image *p, const void *line, void *to);
void ar_finish_table_32(const ar_image *p, const void *line, void *to);
/* Fractions. */
void ar_finish_affine(const ar_image *p, const void *line, void *to);

#endif
