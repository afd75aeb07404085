/* A template that reads rows of one pixel format and resamples them across. Define these macros and include it:
 *
 *     AR_ROW(kind)                    the name of the function; kind is bytes, opencv or exact
 *     AR_LINE(p, from, y)             declarations of pointers to row y
 *     AR_PIXEL(x, r, g, b)            statements that set r, g and b (uint32_t) to the pixel at x of that row
 *     AR_ONE_CHANNEL                  defined if a pixel has only r
 */
#include "image.h"

/* Defines one function. KEEP converts a weighted sum below 2^30 to a buffered value. */
#ifdef AR_ONE_CHANNEL
#define AR_ROW_FUNCTION(KIND, TYPE, KEEP)                                              \
    void AR_ROW(KIND)(const ar_image *p, const ar_picture *from, uint32_t y, void *to) \
    {                                                                                  \
        AR_LINE(p, from, y)                                                            \
        TYPE *out = to;                                                                \
        const uint32_t taps = p->across.taps;                                          \
        const int32_t *w = p->across.weights;                                          \
        for (uint32_t o = 0; o < p->across.outputs; o++, w += taps) {                  \
            const uint32_t first = (uint32_t)p->window_x + p->across.start[o];         \
            uint32_t sum = 0;                                                          \
            for (uint32_t t = 0; t < taps; t++) {                                      \
                uint32_t r;                                                            \
                AR_PIXEL(first + t, r, r, r)                                           \
                sum += r * (uint32_t)w[t];                                             \
            }                                                                          \
            *out++ = (TYPE)(KEEP(sum));                                                \
        }                                                                              \
    }
#else
#define AR_ROW_FUNCTION(KIND, TYPE, KEEP)                                              \
    void AR_ROW(KIND)(const ar_image *p, const ar_picture *from, uint32_t y, void *to) \
    {                                                                                  \
        AR_LINE(p, from, y)                                                            \
        TYPE *out = to;                                                                \
        const uint32_t taps = p->across.taps;                                          \
        const int32_t *w = p->across.weights;                                          \
        const uint32_t red = p->working == AR_BGR ? 2 : 0;                             \
        if (taps == 1 && sizeof(TYPE) == 1) { /* nothing is added up */                \
            const uint32_t grey = p->working == AR_GREY;                               \
            for (uint32_t o = 0; o < p->across.outputs; o++) {                         \
                uint32_t r, g, b;                                                      \
                AR_PIXEL((uint32_t)p->window_x + p->across.start[o], r, g, b)          \
                if (grey) {                                                            \
                    *out++ = (TYPE)ar_grey(p, r, g, b);                                \
                    continue;                                                          \
                }                                                                      \
                out[red] = (TYPE)r;                                                    \
                out[1] = (TYPE)g;                                                      \
                out[2 - red] = (TYPE)b;                                                \
                out += 3;                                                              \
            }                                                                          \
            return;                                                                    \
        }                                                                              \
        if (p->working == AR_GREY) {                                                   \
            for (uint32_t o = 0; o < p->across.outputs; o++, w += taps) {              \
                const uint32_t first = (uint32_t)p->window_x + p->across.start[o];     \
                uint32_t sum = 0;                                                      \
                for (uint32_t t = 0; t < taps; t++) {                                  \
                    uint32_t r, g, b;                                                  \
                    AR_PIXEL(first + t, r, g, b)                                       \
                    sum += ar_grey(p, r, g, b) * (uint32_t)w[t];                       \
                }                                                                      \
                *out++ = (TYPE)(KEEP(sum));                                            \
            }                                                                          \
            return;                                                                    \
        }                                                                              \
        for (uint32_t o = 0; o < p->across.outputs; o++, w += taps, out += 3) {        \
            const uint32_t first = (uint32_t)p->window_x + p->across.start[o];         \
            uint32_t reds = 0, greens = 0, blues = 0;                                  \
            for (uint32_t t = 0; t < taps; t++) {                                      \
                uint32_t r, g, b;                                                      \
                AR_PIXEL(first + t, r, g, b)                                           \
                reds += r * (uint32_t)w[t];                                            \
                greens += g * (uint32_t)w[t];                                          \
                blues += b * (uint32_t)w[t];                                           \
            }                                                                          \
            out[red] = (TYPE)(KEEP(reds));                                             \
            out[1] = (TYPE)(KEEP(greens));                                             \
            out[2 - red] = (TYPE)(KEEP(blues));                                        \
        }                                                                              \
    }
#endif

/* A buffered value is rounded to a byte, has 15 bits for OpenCV's method, or is the whole sum. */
#define AR_KEEP_BYTE(sum) (((sum) + (1u << (AR_WEIGHT_BITS - 1))) >> AR_WEIGHT_BITS)
#define AR_KEEP_OPENCV(sum) ((sum) >> 4)
#define AR_KEEP_ALL(sum) (sum)

AR_ROW_FUNCTION(bytes, uint8_t, AR_KEEP_BYTE)
AR_ROW_FUNCTION(opencv, uint16_t, AR_KEEP_OPENCV)
AR_ROW_FUNCTION(exact, uint32_t, AR_KEEP_ALL)
