/* Features of an endless recording; see audio_stream.h. */
#include "audio_stream.h"

typedef uint32_t __attribute__((__may_alias__)) word;
typedef uint16_t __attribute__((__may_alias__)) half;

/* Copies from low to high addresses, in words or halves of a word if the addresses allow it. `to` may overlap `from` if
 * it is below `from`. Windows are large, so several words are copied per turn of the loop. */
static void copy(void *to, const void *from, uint32_t bytes)
{
    uint8_t *out = to;
    const uint8_t *in = from;
    const uint32_t places = (uint32_t)((uintptr_t)to | (uintptr_t)from);
    if ((places & 3u) == 0) {
        for (; bytes >= 16; bytes -= 16, in += 16, out += 16) {
            const word *w = (const word *)(const void *)in;
            const word a = w[0], b = w[1], c = w[2], d = w[3];
            word *v = (word *)(void *)out;
            v[0] = a, v[1] = b, v[2] = c, v[3] = d;
        }
    } else if ((places & 1u) == 0) {
        for (; bytes >= 8; bytes -= 8, in += 8, out += 8) {
            const half *w = (const half *)(const void *)in;
            const half a = w[0], b = w[1], c = w[2], d = w[3];
            half *v = (half *)(void *)out;
            v[0] = a, v[1] = b, v[2] = c, v[3] = d;
        }
    }
    while (bytes--) {
        *out++ = *in++;
    }
}

void ar_audio_restart(ar_audio_stream *s, uint64_t position)
{
    uint8_t *memory = s->memory;
    for (uint32_t k = 0; k < s->plan->memory_bytes; k++) {
        memory[k] = 0;
    }
    s->position = position;
    s->skip = 0;
    s->filled = 0;
    s->next = 0;
    s->missing = s->plan->rows;
    s->is_complete = 0;
}

/* Converts the frame in s->held, and keeps the samples that the next frame shares with it. */
static void finish_frame(ar_audio_stream *s, void *scratch)
{
    const ar_audio_windows *p = s->plan;
    p->convert(p->front, s->memory, s->held, (uint8_t *)s->ring + s->next * p->row_bytes, scratch);
    s->next = (uint16_t)(s->next + 1u < p->rows ? s->next + 1u : 0u);
    s->filled = 0;
    if (p->step < p->length) {
        s->filled = (uint16_t)(p->length - p->step);
        copy(s->held, s->held + p->step, 2u * s->filled);
    } else {
        s->skip = p->step - p->length;
    }
    s->missing--;
    if (s->missing == 0) {
        s->missing = p->advance;
        s->is_complete = 1;
    }
}

uint32_t ar_audio_feed(ar_audio_stream *s, const int16_t *samples, uint32_t count, void *scratch)
{
    const uint32_t length = s->plan->length;
    uint32_t taken = 0;
    s->is_complete = 0;
    while (taken < count && !s->is_complete) {
        const uint32_t left = count - taken;
        if (s->skip > 0) {
            const uint32_t skipped = s->skip < left ? s->skip : left;
            s->skip -= skipped;
            taken += skipped;
            continue;
        }
        const uint32_t room = length - s->filled;
        const uint32_t added = room < left ? room : left;
        copy(s->held + s->filled, samples + taken, 2 * added);
        s->filled = (uint16_t)(s->filled + added);
        taken += added;
        if (s->filled == length) {
            finish_frame(s, scratch);
        }
    }
    s->position += taken;
    return taken;
}

const void *ar_audio_row(const ar_audio_stream *s, uint32_t index)
{
    const uint32_t at = s->next + index;
    const uint32_t rows = s->plan->rows;
    return (const uint8_t *)s->ring + (at < rows ? at : at - rows) * s->plan->row_bytes;
}

void ar_audio_window(const ar_audio_stream *s, void *to)
{
    const uint32_t row_bytes = s->plan->row_bytes;
    const uint32_t newer = s->next * row_bytes; /* the ring begins with the newer rows */
    const uint32_t older = s->plan->rows * row_bytes - newer;
    copy(to, (const uint8_t *)s->ring + newer, older);
    copy((uint8_t *)to + older, s->ring, newer);
}
