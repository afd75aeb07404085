/* The four functions that a compiler may call on its own. There is no C library that provides them.
 *
 * They work on words if both addresses are aligned, and on bytes otherwise. They are compiled with
 * -fno-tree-loop-distribute-patterns, because otherwise each function would call itself.
 */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *left, const void *right, size_t bytes);

typedef uint32_t __attribute__((may_alias)) word;

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    uint8_t *out = to;
    const uint8_t *in = from;
    if ((((uintptr_t)out | (uintptr_t)in) & 3u) == 0) {
        for (; bytes >= 4; bytes -= 4, out += 4, in += 4) {
            *(word *)(void *)out = *(const word *)(const void *)in;
        }
    }
    while (bytes--) {
        *out++ = *in++;
    }
    return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
    uint8_t *out = to;
    const uint8_t *in = from;
    if ((uintptr_t)out <= (uintptr_t)in) {
        while (bytes--) {
            *out++ = *in++;
        }
    } else {
        while (bytes--) {
            out[bytes] = in[bytes];
        }
    }
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    uint8_t *out = to;
    const uint32_t pattern = (uint8_t)value * 0x01010101u;
    while (bytes && ((uintptr_t)out & 3u)) {
        *out++ = (uint8_t)value;
        bytes--;
    }
    for (; bytes >= 4; bytes -= 4, out += 4) {
        *(word *)(void *)out = pattern;
    }
    while (bytes--) {
        *out++ = (uint8_t)value;
    }
    return to;
}

int memcmp(const void *left, const void *right, size_t bytes)
{
    const uint8_t *a = left, *b = right;
    for (; bytes; bytes--, a++, b++) {
        if (*a != *b) {
            return *a - *b;
        }
    }
    return 0;
}
