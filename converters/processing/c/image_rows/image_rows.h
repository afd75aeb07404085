/* Declares the functions that read rows of every pixel format; image_row.h defines them. */
#ifndef ARENITE_IMAGE_ROWS_H
#define ARENITE_IMAGE_ROWS_H

#include "image.h"

#define AR_ROW_DECLARED(FORMAT)                                                                   \
    void ar_row_bytes_##FORMAT(const ar_image *p, const ar_picture *from, uint32_t y, void *to);  \
    void ar_row_opencv_##FORMAT(const ar_image *p, const ar_picture *from, uint32_t y, void *to); \
    void ar_row_exact_##FORMAT(const ar_image *p, const ar_picture *from, uint32_t y, void *to);

AR_ROW_DECLARED(rgb)
AR_ROW_DECLARED(bgr)
AR_ROW_DECLARED(grey)
AR_ROW_DECLARED(rgba)
AR_ROW_DECLARED(bgra)
AR_ROW_DECLARED(rgb565)
AR_ROW_DECLARED(rgb565be)
AR_ROW_DECLARED(yuyv)
AR_ROW_DECLARED(uyvy)
AR_ROW_DECLARED(nv12)
AR_ROW_DECLARED(nv21)
AR_ROW_DECLARED(yu12)
AR_ROW_DECLARED(yv12)

#endif
