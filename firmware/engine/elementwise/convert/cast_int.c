/* CAST between integer types. */
#include "cast.h"

#include "element.h"

/* Returns the size in bytes of an element. An int64 is two words, the low word first. */
static uint32_t size_of(uint32_t type) { return type == AR_INT64 ? 8 : ar_element_size(type); }

void ar_cast_int(const ar_cast_params *p)
{
    const uint8_t *in = p->input;
    uint8_t *out = p->output;
    for (uint32_t i = 0; i < p->count; i++) {
        const int wide = p->input_type == AR_INT64;
        const int32_t low = ar_load(in, wide ? AR_INT32 : p->input_type);
        const int32_t high = wide ? ar_load(in + 4, AR_INT32) : low < 0 ? -1 : 0;
        if (p->output_type == AR_BOOL) {
            *out = low != 0 || high != 0;
        } else {
            ar_store(out, p->output_type == AR_INT64 ? AR_INT32 : p->output_type, low);
            if (p->output_type == AR_INT64) {
                ar_store(out + 4, AR_INT32, high);
            }
        }
        in += size_of(p->input_type);
        out += size_of(p->output_type);
    }
}
