/* Converts a picture to a tensor on a host, and has last steps that microcontrollers do not need; see image_host.h. */
#include "image_host.h"
#include "vector.h"

void ar_host_run(const ar_host_image *p, const ar_picture *from, void *to, void *scratch)
{
    const ar_image *image = &p->image;
    const uint32_t bottom = (uint32_t)image->top + (image->across.outputs ? image->down.outputs : 0u);
    const int whole = p->row_bytes == (uint32_t)image->canvas_width * image->channels * image->element_bytes;
    ar_image_rows state;
    uint8_t *out = to;
    ar_image_begin(image, &state, scratch);
    for (uint32_t y = 0; y < image->canvas_height; y++, out += p->row_bytes) {
        if (whole && (y < image->top ? y > 0 : y > bottom)) { /* all rows of a margin are equal */
            __builtin_memcpy(out, out - p->row_bytes, p->row_bytes);
        } else {
            ar_image_row(image, &state, from, y, out);
        }
    }
}

void ar_finish_shift(const ar_image *p, const void *line, void *to)
{
    const uint8_t *in = line, shift = *(const uint8_t *)p->table;
    const uint32_t values = (uint32_t)p->canvas_width * p->channels;
    uint8_t *out = to;
    for (uint32_t k = 0; k < values; k++) {
        out[k] = (uint8_t)(in[k] + shift);
    }
}

/* Converts a line for elements of one type. */
#define AR_REPEATED(ELEMENT)                                                                       \
    {                                                                                              \
        const ELEMENT *red = (const ELEMENT *)p->table, *green = red + next, *blue = green + next; \
        ELEMENT *out = to;                                                                         \
        for (uint32_t x = 0; x < p->canvas_width; x++, out += 3) {                                 \
            const uint8_t value = in[x];                                                           \
            out[0] = red[value];                                                                   \
            out[1] = green[value];                                                                 \
            out[2] = blue[value];                                                                  \
        }                                                                                          \
    }

void ar_finish_repeated(const ar_image *p, const void *line, void *to)
{
    const uint8_t *in = line;
    const uint32_t next = p->per_channel ? 256 : 0;
    if (p->element_bytes == 1) {
        AR_REPEATED(uint8_t)
    } else if (p->element_bytes == 2) {
        AR_REPEATED(uint16_t)
    } else {
        AR_REPEATED(uint32_t)
    }
}

/* Converts channel `c` of a line of bytes for elements of one type. */
#define AR_PLANES(ELEMENT)                                                                      \
    {                                                                                           \
        const ELEMENT *table = (const ELEMENT *)p->table + (p->per_channel ? 256 * c : 0);      \
        ELEMENT *out = (ELEMENT *)to + c * plane;                                               \
        for (uint32_t x = 0; x < p->canvas_width; x++) {                                        \
            const uint8_t *at = in + x * working;                                               \
            out[x] = table[p->late_grey ? ar_grey(p, at[red], at[1], at[2 - red]) : at[first]]; \
        }                                                                                       \
    }

void ar_finish_planar(const ar_image *p, const void *line, void *to)
{
    const uint8_t *in = line;
    const uint32_t working = ar_working_channels(p);
    const uint32_t red = p->working == AR_BGR ? 2 : 0;
    const uint32_t plane = (uint32_t)p->canvas_width * p->canvas_height;
    for (uint32_t c = 0; c < p->channels; c++) {
        const uint32_t first = working == 1 ? 0 : c;
        if (p->line_bytes != 1) {
            for (uint32_t x = 0; x < p->canvas_width; x++) {
                const uint32_t value = ((const uint32_t *)line)[x * working + first];
                ar_affine_store(&p->affine, c, value, to, c * plane + x);
            }
        } else if (p->element_bytes == 1) {
            AR_PLANES(uint8_t)
        } else if (p->element_bytes == 2) {
            AR_PLANES(uint16_t)
        } else {
            AR_PLANES(uint32_t)
        }
    }
}

const char *ar_host_vector(void)
{
#ifdef AR_VECTOR
#ifdef __x86_64__
    return __builtin_cpu_supports("avx2") ? AR_VECTOR : "";
#else
    return AR_VECTOR;
#endif
#else
    return "";
#endif
}
