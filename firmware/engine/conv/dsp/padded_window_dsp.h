/* Copies a part of an input row with its padding, for convolutions on cores with the DSP extension. */
#ifndef ARENITE_PADDED_WINDOW_DSP_H
#define ARENITE_PADDED_WINDOW_DSP_H

#include <stdint.h>

/* Stores `bytes` copies of a byte at `to`; `pattern` is four copies of that byte. `bytes` is small, so this is a simple
 * loop. Returns the address after the last byte. */
static int8_t *fill_bytes(int8_t *to, uint32_t pattern, int32_t bytes)
{
    for (; bytes >= 4; bytes -= 4, to += 4) {
        __builtin_memcpy(to, &pattern, 4);
    }
    if (bytes & 2) {
        __builtin_memcpy(to, &pattern, 2);
        to += 2;
    }
    if (bytes & 1) {
        *to++ = (int8_t)pattern;
    }
    return to;
}

/* Copies columns `first` to `first` + `count` - 1 of a row of in_w columns to `to`, with padding (the value
 * zero_point) for columns outside the row. `row` is 0 for a row of padding. A column has in_c bytes. */
static void padded_window(int8_t *to, const int8_t *row, int32_t in_c, int32_t zero_point, int32_t in_w,
                          int32_t first, int32_t count)
{
    const uint32_t padding = (uint8_t)zero_point * 0x01010101u;
    int32_t before = first < 0 ? -first : 0;
    int32_t end = in_w - first; /* columns of the window before the row's end */
    end = end < count ? end : count;
    if (!row || end <= before) {
        fill_bytes(to, padding, count * in_c);
        return;
    }
    to = fill_bytes(to, padding, before * in_c);
    const int8_t *from = row + (first + before) * in_c;
    int32_t bytes = (end - before) * in_c;
    for (; bytes >= 4; bytes -= 4, to += 4, from += 4) {
        __builtin_memcpy(to, from, 4); /* one load and one store: the addresses need no alignment */
    }
    for (; bytes > 0; bytes--) {
        *to++ = *from++;
    }
    fill_bytes(to, padding, (count - end) * in_c);
}

#endif
