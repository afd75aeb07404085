/* The vector code of vector_rows.h for each kind of pixel. */
#include "vector_rows.h"

#ifdef AR_VECTOR
AR_VECTOR_ROWS(packed_yuv, AR_PACKED, AR_YUV)
AR_VECTOR_ROWS(paired_yuv, AR_PAIRED, AR_YUV)
AR_VECTOR_ROWS(apart_yuv, AR_APART, AR_YUV)
AR_VECTOR_ROWS(colours, AR_PACKED, AR_COLOURS)
AR_VECTOR_ROWS(565, AR_PACKED, AR_565)
AR_VECTOR_ROWS(luma, AR_PACKED, AR_LUMA)
#endif
